//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package eventloop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// kevents returns n events in memory that the collector does not scan: an
// event's user data has a pointer type, but here it is a number.
func kevents(n int) []unix.Kevent_t {
	const words = (unsafe.Sizeof(unix.Kevent_t{}) + 7) / 8
	mem := make([]uint64, uintptr(n)*words)
	return unsafe.Slice((*unix.Kevent_t)(unsafe.Pointer(&mem[0])), n)
}

// udata is the user data of an event, which must be one of kevents.
func udata(e *unix.Kevent_t) *uintptr { return (*uintptr)(unsafe.Pointer(&e.Udata)) }
