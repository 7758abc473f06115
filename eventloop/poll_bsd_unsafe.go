//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package eventloop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// kevents returns n events in memory that the collector does not scan: what a user
// puts into an event has the type of a pointer, and here is a number.
func kevents(n int) []unix.Kevent_t {
	const words = (unsafe.Sizeof(unix.Kevent_t{}) + 7) / 8
	mem := make([]uint64, uintptr(n)*words)
	return unsafe.Slice((*unix.Kevent_t)(unsafe.Pointer(&mem[0])), n)
}

// udata is what the user puts into an event. The event is one of kevents.
func udata(e *unix.Kevent_t) *uintptr { return (*uintptr)(unsafe.Pointer(&e.Udata)) }
