package arena

import (
	"bytes"
	"reflect"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// typedChecks is the state that checking builds keep for a Typed.
//
// In memory that the garbage collector scans, freed values cannot be filled with arbitrary
// bytes. They become copies of a value whose pointers are nil and whose other fields hold
// poison, and must still equal it when they are next handed out.
type typedChecks[T any] struct {
	value []T             // one poisoned value, made on first use
	freed invariant.Event // the last Reset or Rewind
}

func (c *typedChecks[T]) poison(s []T) {
	if c.value == nil {
		c.value = make([]T, 1)
		poisonScalars(bytesOf(c.value), reflect.TypeFor[T]())
	}
	for i := range s {
		copy(s[i:], c.value)
	}
}

// checkedSlice is take for checking builds: values are zero if they were never
// handed out, and poisoned otherwise.
func (a *Typed[T]) checkedSlice(n int) []T {
	s := a.take(n)
	for i := range s {
		v := bytesOf(s[i : i+1])
		if a.checks.value != nil && bytes.Equal(v, bytesOf(a.checks.value)) {
			continue
		}
		for _, b := range v {
			if b != 0 {
				panicStaleWrite(a.checks.freed)
			}
		}
	}
	clear(s)
	return s
}

// poisonScalars poisons the non-pointer parts of a value of type t whose memory
// is b.
func poisonScalars(b []byte, t reflect.Type) {
	switch k := t.Kind(); {
	case k == reflect.Struct:
		for f := range t.Fields() {
			poisonScalars(b[f.Offset:][:f.Type.Size()], f.Type)
		}
	case k == reflect.Array:
		for i := range t.Len() {
			size := t.Elem().Size()
			poisonScalars(b[uintptr(i)*size:][:size], t.Elem())
		}
	case k >= reflect.Int && k <= reflect.Complex128:
		for i := range b {
			b[i] = poison
		}
	}
}
