package poll

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fetch fills events with ready descriptors, without waiting, and returns how
// many there are. events must not be empty.
//
// The call only copies and returns, so the scheduler need not know about it
// (RawSyscall).
//
// unsafe: events stays alive and in place during the call because its pointer
// is converted in the call's argument list.
func (s *Set) Fetch(events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(s.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, os.NewSyscallError("epoll_pwait", errno)
	}
	return int(n), nil
}
