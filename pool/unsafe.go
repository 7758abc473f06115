package pool

import "unsafe"

// at returns the stack of the P with the given id, in the generation that
// starts with first. Every generation of a cache has c.procs stacks in one
// array (only start makes one), and the caller has checked that pid is below
// c.procs.
func at[T any](first *stack[T], pid int) *stack[T] {
	return (*stack[T])(unsafe.Add(unsafe.Pointer(first), uintptr(pid)*unsafe.Sizeof(*first)))
}

func sizeof[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

// firstOf returns the first byte of b's capacity, which keeps all of it alive.
func firstOf(b []byte) *byte { return unsafe.SliceData(b) }

// sliceOf undoes firstOf. A class keeps the first byte of buffers of its own
// size: Get makes no others, and Put has compared the capacity.
func sliceOf(first *byte, size int) []byte { return unsafe.Slice(first, size) }

// address identifies an object while it exists.
func address[T any](x *T) uintptr { return uintptr(unsafe.Pointer(x)) }

// view returns the memory of *x. Only poisoning uses it: it reads any byte, but
// writes none that belongs to a pointer, so the collector never sees an invalid
// one.
func view[T any](x *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x))
}
