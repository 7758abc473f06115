package offheap

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel without them refuses, and ordinary
// pages are used.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// decommitPages returns the pages of b to the system; later reads find zeros. The kernel
// refuses locked pages (mlockall), which stay.
func decommitPages(b []byte) error {
	err := unix.Madvise(b, unix.MADV_DONTNEED)
	if err == unix.EINVAL && aligned(b) {
		return nil
	}
	return err
}
