//go:build unix

package windows

import (
	"os"
	"syscall"
)

func blocks(f os.FileInfo) int64 {
	return f.Sys().(*syscall.Stat_t).Blocks
}
