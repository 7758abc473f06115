package whennot

import "unsafe"

func sum(s string) (n int) {
	for _, c := range unsafe.Slice(unsafe.StringData(s), len(s)) {
		n += int(c)
	}
	return n
}

func stringToBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

func read(b []byte) byte { return b[0] }

func first(s string) byte {
	b := stringToBytes(s)
	b = append(b[:0:0], 'x') // a new array
	return read(stringToBytes(s)) + b[0]
}

func offset(s string, part []byte) int {
	b := stringToBytes(s)
	return int(uintptr(unsafe.Pointer(&part[0])) - uintptr(unsafe.Pointer(&b[0])))
}
