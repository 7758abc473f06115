//go:build unix

package eventloop

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// isOpen reports whether fd is a descriptor of this process.
func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// fdError wraps errors of a descriptor.
func fdError(call string, err error) error {
	switch err {
	case nil:
		return nil
	case unix.EBADF, unix.ENOENT:
		return fmt.Errorf("%s: %w: %w", call, err, ErrFD)
	case unix.EPERM:
		return fmt.Errorf("%s: %w: %w", call, err, ErrFDKind)
	}
	return os.NewSyscallError(call, err)
}
