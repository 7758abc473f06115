package offheap

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel that has none refuses, and ordinary
// pages serve.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
