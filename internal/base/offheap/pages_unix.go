//go:build linux || darwin || freebsd

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ranges handled here come from mmap and lie outside the Go heap. The
// garbage collector neither moves nor frees them, and pointer arithmetic stays
// inside a range that this file mapped.

func mapPages(size int, huge bool) ([]byte, error) {
	if huge {
		return mapHuge(size)
	}
	p, err := mapAnonymous(size)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// mapHuge maps one huge page more than needed and unmaps both ends, which leaves an aligned range.
func mapHuge(size int) ([]byte, error) {
	p, err := mapAnonymous(size + HugePageBytes)
	if err != nil {
		return nil, err
	}
	head := int(-uintptr(p) % HugePageBytes)
	if head > 0 {
		if err := unix.MunmapPtr(p, uintptr(head)); err != nil {
			return nil, err
		}
	}
	if tail := HugePageBytes - head; tail > 0 {
		if err := unix.MunmapPtr(unsafe.Add(p, head+size), uintptr(tail)); err != nil {
			return nil, err
		}
	}
	b := unsafe.Slice((*byte)(unsafe.Add(p, head)), size)
	adviseHuge(b)
	return b, nil
}

func mapAnonymous(size int) (unsafe.Pointer, error) {
	return unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func unmapPages(b []byte) error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}

// guardPages returns the memory of b to the system and makes any access to b fault.
func guardPages(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return err
	}
	return unix.Mprotect(b, unix.PROT_NONE)
}
