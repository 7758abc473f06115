package http11

import (
	"encoding/binary"
	"unsafe"
)

// offset returns the index in whole where part, a part of it, begins.
func offset(whole, part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}

// loadWord returns b[i:i+8] as a little-endian word. The caller ensures 0 <= i
// and i+8 <= len(b).
func loadWord(b []byte, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))[:])
}

// loadHalf returns b[i:i+4] as a little-endian word. The caller ensures 0 <= i
// and i+4 <= len(b).
func loadHalf(b []byte, i int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))[:])
}

// bytesOf returns the bytes of s. Nobody may write to them: strings are shared.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
