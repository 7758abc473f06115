package arena

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// An Allocator is an [Arena] or a [Concurrent].
type Allocator interface {
	// alloc returns size bytes, aligned to 8, with unspecified contents. size is a
	// positive multiple of 8.
	alloc(size uintptr) unsafe.Pointer
	// extend grows the allocation of old bytes at p to size bytes if there is room
	// behind it, and reports whether it did. Both sizes are multiples of 8.
	extend(p unsafe.Pointer, old, size uintptr) bool
}

// New returns a zero T in the arena. It panics if T holds pointers: use [Typed]
// for those. The check looks at the type, not the value, and compiles to a
// constant where T is known.
func New[T any](a Allocator) *T {
	if holdsPointers[T]() {
		refuse[T]("New")
	}
	if sizeOf[T]() == 0 {
		return new(T)
	}
	return zeroAt[T](a.alloc(roundUp(sizeOf[T]())))
}

// MakeSlice returns a slice of n zero Ts with no spare capacity. It panics if T holds
// pointers or n is negative or absurdly large.
func MakeSlice[T any](a Allocator, n int) []T {
	if holdsPointers[T]() {
		refuse[T]("MakeSlice")
	}
	s := makeSlice[T](a, "MakeSlice", n)
	clear(s)
	return s
}

// makeSlice returns n Ts with unspecified contents.
func makeSlice[T any](a Allocator, op string, n int) []T {
	checkCount[T](op, n)
	size := sizeOf[T]()
	if size == 0 || n == 0 {
		return make([]T, n)
	}
	return at[T](a.alloc(roundUp(uintptr(n)*size)), n)
}

// AppendTo appends vals to s like append, but takes memory for a longer slice
// from the arena. s may be any slice; the latest allocation of an [Arena] grows
// in place. It panics if T holds pointers.
func AppendTo[T any](a Allocator, s []T, vals ...T) []T {
	if holdsPointers[T]() {
		refuse[T]("AppendTo")
	}
	if n := len(s) + len(vals); n > cap(s) {
		s = grow(a, s, n)
	}
	return append(s, vals...)
}

// checkCount panics if n is no number of Ts that an arena may hold.
func checkCount[T any](op string, n int) {
	if n < 0 || uintptr(n) > maxAllocBytes/max(sizeOf[T](), 1) {
		refuseCount(op, n, sizeOf[T]())
	}
}

func refuseCount(op string, n int, size uintptr) {
	panic(fmt.Sprintf("arena: %s: %d values of %d bytes each; want 0 to %d bytes together", op, n, size, maxAllocBytes))
}

// grow returns s with a capacity of at least n: small slices double, large ones
// grow by a quarter.
func grow[T any](a Allocator, s []T, n int) []T {
	want := 2 * cap(s)
	if cap(s) >= 1024 {
		want = cap(s) + cap(s)/4
	}
	want = max(want, n, 8)
	size := sizeOf[T]()
	if size == 0 || uintptr(want) > maxAllocBytes/size {
		want = n
	}
	// A slice may end where the allocation ends but start inside it, at any
	// element. Growing that one by whole words would break the alignment.
	old := uintptr(cap(s)) * size
	if old > 0 && old%alignBytes == 0 && a.extend(start(s), old, roundUp(uintptr(want)*size)) {
		t := at[T](start(s), want)
		clear(t[cap(s):])
		return t[:len(s)]
	}
	t := makeSlice[T](a, "AppendTo", want)
	clear(t[copy(t, s):])
	return t[:len(s)]
}

// Bytes returns n zero bytes with no spare capacity.
func (a *Arena) Bytes(n int) []byte {
	if !invariant.Enabled && n > 0 && n <= maxAllocBytes {
		if p := a.take(roundUp(uintptr(n))); p != nil {
			b := at[byte](p, n)
			clear(b)
			return b
		}
	}
	b := makeSlice[byte](a, "Bytes", n)
	clear(b)
	return b
}

// CopyString copies s into the arena.
func (a *Arena) CopyString(s string) string {
	b := makeSlice[byte](a, "CopyString", len(s))
	copy(b, s)
	return stringOver(b)
}

// String returns b as a string that shares its memory; nothing is copied. b
// must come from this arena and must not change afterwards. Checking builds
// panic if it comes from elsewhere.
func (a *Arena) String(b []byte) string {
	a.mustHold(b)
	return stringOver(b)
}

func refuse[T any](op string) {
	panic(fmt.Sprintf("arena: %s: %v holds pointers, which the garbage collector cannot see here; use Typed[%[2]v]",
		op, reflect.TypeFor[T]()))
}

func roundUp(size uintptr) uintptr { return (size + alignBytes - 1) &^ (alignBytes - 1) }
