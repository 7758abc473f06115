package poll

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Set is an epoll descriptor that is itself in the set of the runtime's
// poller. Make one with [Open]; it must not be copied. Several goroutines may
// call its methods, but only one at a time may Wait.
type Set struct {
	fd   int             // valid until file is closed
	file *os.File        // owns fd
	conn syscall.RawConn // of file
}

// Open returns an empty set. The error is an *os.SyscallError, or says that the
// runtime's poller refused the descriptor.
func Open() (*Set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // os.NewFile requires it
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err == nil {
		err = file.SetReadDeadline(time.Time{}) // fails if the runtime did not accept it
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Set{fd: fd, file: file, conn: conn}, nil
}

// Add puts a descriptor into the set. Fetch returns the last 64 bits of the
// event unchanged. The error is that of the system call, a [syscall.Errno].
func (s *Set) Add(fd int, e unix.EpollEvent) error {
	return unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, fd, &e)
}

// Modify changes the event of a descriptor in the set.
func (s *Set) Modify(fd int, e unix.EpollEvent) error {
	return unix.EpollCtl(s.fd, unix.EPOLL_CTL_MOD, fd, &e)
}

// Remove takes a descriptor out of the set, as does closing its last copy.
func (s *Set) Remove(fd int) error {
	return unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, fd, new(unix.EpollEvent))
}

// Wait calls try, and again each time a descriptor becomes ready, until try
// returns true. Spurious calls are possible. Wait fails with
// [os.ErrDeadlineExceeded] when the deadline has passed, and with another error
// when the set is closed. The runtime drops notifications between two Waits, so
// try must Fetch before it lets Wait wait. try gets the descriptor of the set.
func (s *Set) Wait(try func(fd uintptr) bool) error { return s.conn.Read(try) }

// SetDeadline makes Wait fail from t on; the zero time means no deadline. A
// deadline in the past ends a Wait at once, so another goroutine can wake it.
// SetDeadline fails only when the set is closed.
func (s *Set) SetDeadline(t time.Time) error { return s.file.SetReadDeadline(t) }

// Close ends a Wait. Descriptors stay open.
func (s *Set) Close() error { return s.file.Close() }
