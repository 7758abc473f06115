package before

import "unsafe"

func upper(s string) {
	b := unsafe.Slice(unsafe.StringData(s), len(s)) // want `copy them with \[\]byte\(s\)`
	for i := range b {
		b[i] &^= 0x20
	}
}

func stringToBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

func scribble(b []byte) {
	b[0] = 'x'
}

func callee(s string) {
	scribble(stringToBytes(s)) // want `belong to a string`
}

func old(s string) {
	b := *(*[]byte)(unsafe.Pointer(&s)) // want `belong to a string`
	copy(b, "x")
}
