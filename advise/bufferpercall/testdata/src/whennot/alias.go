package whennot

import "unsafe"

// The text has the memory of the buffer, and is returned.
type label struct{ data string }

func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func castOf(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func labelOf(parts []string, size int) label {
	buf := make([]byte, size)
	for _, p := range parts {
		copy(buf, p)
	}
	return label{data: textOf(buf)}
}

func otherOf(parts []string, size int) label {
	buf := make([]byte, size)
	for _, p := range parts {
		copy(buf, p)
	}
	return label{data: castOf(buf)}
}

// What the slice is handed to keeps it, whatever its type.
type union[T any] struct{ parts []T }

func unite[T any](parts ...T) *union[T] { return &union[T]{parts} }

func united(n int) *union[int] {
	parts := make([]int, n)
	for i := range parts {
		parts[i] = i * n
	}
	return unite(parts...)
}
