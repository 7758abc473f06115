//go:build darwin || freebsd

package offheap

import "golang.org/x/sys/unix"

// adviseHuge does nothing: this system has no such advice.
func adviseHuge([]byte) {}

// decommitPages lets the system reclaim the pages of b when it needs memory; until then
// they keep their contents.
func decommitPages(b []byte) error { return unix.Madvise(b, unix.MADV_FREE) }
