//go:build !unix

package http11

import (
	"errors"
	"os"
	"syscall"
)

// temporary reports whether an accept error is transient.
func temporary(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) &&
		(errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.ECONNRESET || errno == syscall.ECONNABORTED)
}

// openFlags open a file for reading.
const openFlags = os.O_RDONLY
