package offheap

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel that has none refuses, and ordinary
// pages serve.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// decommitPages gives the pages of b back; what reads there next finds zeros.
// The kernel refuses pages that are locked (mlockall), which stay.
func decommitPages(b []byte) error {
	err := unix.Madvise(b, unix.MADV_DONTNEED)
	if err == unix.EINVAL && aligned(b) {
		return nil
	}
	return err
}
