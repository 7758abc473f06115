package offheap

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// The ranges handled here come from VirtualAlloc and lie outside the Go heap.
// Windows requires a privilege for large pages, so huge is ignored here; the
// allocation granularity of 64 KB aligns every range.

func mapPages(size int, _ bool) ([]byte, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address is outside the Go heap. Reading it through a pointer to the
	// variable silences vet's unsafeptr check, which cannot know that.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size), nil
}

func unmapPages(b []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, windows.MEM_RELEASE)
}

// guardPages returns the memory of b to the system and makes any access to b fault.
func guardPages(b []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), windows.MEM_DECOMMIT)
}

// decommitPages lets the system drop the contents of b's pages. They stay
// committed, so access does not fault.
func decommitPages(b []byte) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	_, err := windows.VirtualAlloc(addr, uintptr(len(b)), windows.MEM_RESET, windows.PAGE_READWRITE)
	return err
}
