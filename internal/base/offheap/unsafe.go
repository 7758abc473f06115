package offheap

import "unsafe"

// onHeap returns size bytes of the Go heap, aligned to 8.
//
// The words hold no pointers, and the returned slice keeps them alive.
func onHeap(size int) []byte {
	words := make([]uint64, (size+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
}

// aligned reports whether b begins and ends at page boundaries.
func aligned(b []byte) bool {
	return (uintptr(unsafe.Pointer(unsafe.SliceData(b)))|uintptr(len(b)))%uintptr(pageBytes) == 0
}
