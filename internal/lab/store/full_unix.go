//go:build linux || darwin

package store

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskFull reports whether an unprivileged process could not write another
// 64 KiB, the most by which SQLite grows an auxiliary file at once, beside path.
func diskFull(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &fs) != nil {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) < 64<<10
}
