//go:build unix

package http11

import (
	"errors"
	"syscall"
)

// temporary reports whether an accept error is transient (accept(2)).
func temporary(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET,
		syscall.EINTR, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH,
		syscall.EHOSTDOWN:
		return true
	}
	return false
}

// openFlags open a file for reading, without waiting for a device or the other
// end of a FIFO.
const openFlags = syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
