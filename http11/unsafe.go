package http11

import "unsafe"

// offset returns where part begins in whole, of which it is a part.
func offset(whole, part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}
