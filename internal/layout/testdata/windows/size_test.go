package windows

import (
	"syscall"
	"testing"
)

func TestBlocks(t *testing.T) {
	var s syscall.Statfs_t
	t.Log(s)
}
