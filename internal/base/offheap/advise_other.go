//go:build darwin || freebsd

package offheap

import "golang.org/x/sys/unix"

// adviseHuge does nothing: there is no such advice here.
func adviseHuge([]byte) {}

// decommitPages lets the system take the pages of b when it needs memory; until
// then they hold what they held.
func decommitPages(b []byte) error { return unix.Madvise(b, unix.MADV_FREE) }
