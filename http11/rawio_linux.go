package http11

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readFD and writeFD do one system call on a descriptor that is in
// non-blocking mode, as the runtime keeps its sockets. Such a call copies
// bytes and returns, so that the scheduler need not be told about it.
//
// unsafe: p is not empty, and stays alive and in place during the call
// because its pointer is converted in the call's argument list.

func readFD(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func writeFD(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// again says that the descriptor is not ready.
func again(errno syscall.Errno) bool { return errno == syscall.EAGAIN }

const rawIO = true

// unsent returns how many bytes of the descriptor's socket the other side has not
// acknowledged; for a Unix socket, those that it has not read.
func unsent(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}
