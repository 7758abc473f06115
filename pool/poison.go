package pool

import "reflect"

// poisonByte fills memory without pointers. Eight of them make an improbable
// number and, as an address, one that no system maps.
const poisonByte = 0xdb

func fillPoison(b []byte) {
	for i := range b {
		b[i] = poisonByte
	}
}

// A span is a run of bytes that all belong to fields, without padding.
type span struct {
	offset, size uintptr
	pointers     bool // part of a pointer, string, slice or the like: poisoned to zero
}

// A layout is the spans of a type in ascending order.
type layout []span

func layoutOf[T any]() layout {
	var l layout
	l.walk(reflect.TypeFor[T](), 0)
	return l
}

func (l *layout) walk(t reflect.Type, offset uintptr) {
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			l.walk(f.Type, offset+f.Offset)
		}
	case reflect.Array:
		if isNumber(t.Elem().Kind()) {
			l.add(span{offset, t.Size(), false})
			return
		}
		for i := range t.Len() {
			l.walk(t.Elem(), offset+uintptr(i)*t.Elem().Size())
		}
	default:
		l.add(span{offset, t.Size(), !isNumber(t.Kind())})
	}
}

// add appends s, or extends the last span by it.
func (l *layout) add(s span) {
	if n := len(*l) - 1; n >= 0 {
		if last := &(*l)[n]; last.pointers == s.pointers && last.offset+last.size == s.offset {
			last.size += s.size
			return
		}
	}
	*l = append(*l, s)
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Complex128 }

// fill poisons b, the memory of a zero T.
func (l layout) fill(b []byte) {
	for _, s := range l {
		if !s.pointers {
			fillPoison(b[s.offset : s.offset+s.size])
		}
	}
}

// differ returns the offset of the first field byte in which a and b, the
// memory of two Ts, differ, or -1.
func (l layout) differ(a, b []byte) int {
	for _, s := range l {
		for i := s.offset; i < s.offset+s.size; i++ {
			if a[i] != b[i] {
				return int(i)
			}
		}
	}
	return -1
}
