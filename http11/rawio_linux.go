package http11

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// readFD and writeFD do one system call on a non-blocking socket, such as the
// runtime's. The call copies bytes and returns, so the scheduler need not know
// about it. The calls for sockets take less time than read and write, and send
// no SIGPIPE. Race builds call package syscall as package net does: that tells
// the detector that what a client did before it sent came before the handler.
//
// unsafe: p is not empty, and stays alive and in place during the call because
// its pointer is converted in the call's argument list.

func readFD(fd uintptr, p []byte) (int, syscall.Errno) {
	if invariant.Race {
		n, err := syscall.Read(int(fd), p)
		errno, _ := err.(syscall.Errno)
		return n, errno
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), 0, 0, 0)
	return int(n), errno
}

func writeFD(fd uintptr, p []byte) (int, syscall.Errno) {
	if invariant.Race {
		n, err := syscall.Write(int(fd), p)
		errno, _ := err.(syscall.Errno)
		return n, errno
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// again reports that the descriptor is not ready.
func again(errno syscall.Errno) bool { return errno == syscall.EAGAIN }

const rawIO = true

// unsent returns how many bytes the peer has not acknowledged; for a Unix
// socket, how many it has not read.
func unsent(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	if err != nil {
		return unknown
	}
	return n
}

// unread reports whether there are bytes to read.
func unread(fd uintptr) bool {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	return err == nil && n > 0
}
