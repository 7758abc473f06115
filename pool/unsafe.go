package pool

import "unsafe"

// at returns the stack of the P with the given id, in a generation that starts
// with first. Every generation of a cache has c.procs stacks in one array
// (start is the only place that makes one), and the caller has checked that
// pid is below.
func at[T any](first *stack[T], pid int) *stack[T] {
	return (*stack[T])(unsafe.Add(unsafe.Pointer(first), uintptr(pid)*unsafe.Sizeof(*first)))
}
