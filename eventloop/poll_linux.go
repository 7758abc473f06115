package eventloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// epoll is a kernel for Linux. Its descriptor is itself in the set of the runtime's
// poller: a goroutine that reads from it waits as one that reads from a socket.
type epoll struct {
	fd   int             // valid until file is closed
	file *os.File        // owns fd
	conn syscall.RawConn // of file
	raw  [eventsLen]unix.EpollEvent
}

func newKernel() (kernel, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // what os.NewFile wants to see
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err == nil {
		err = file.SetReadDeadline(time.Time{}) // fails if the runtime did not take it
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &epoll{fd: fd, file: file, conn: conn}, nil
}

func (k *epoll) ctl(op int, fd int32, gen uint32, i Interest) error {
	// The kernel returns the last 64 bits as they are.
	e := unix.EpollEvent{Fd: fd, Pad: int32(gen)}
	if i&Read != 0 {
		e.Events |= unix.EPOLLIN | unix.EPOLLRDHUP
	}
	if i&Write != 0 {
		e.Events |= unix.EPOLLOUT
	}
	if i&Edge != 0 {
		e.Events |= unix.EPOLLET
	}
	return fdError("epoll_ctl", unix.EpollCtl(k.fd, op, int(fd), &e))
}

func (k *epoll) add(fd int32, gen uint32, i Interest) error {
	return k.ctl(unix.EPOLL_CTL_ADD, fd, gen, i)
}

func (k *epoll) modify(fd int32, gen uint32, i Interest) error {
	return k.ctl(unix.EPOLL_CTL_MOD, fd, gen, i)
}

func (k *epoll) remove(fd int32) error { return k.ctl(unix.EPOLL_CTL_DEL, fd, 0, 0) }

func (k *epoll) fetch(dst []fdEvent) (int, error) {
	n, err := unix.EpollWait(k.fd, k.raw[:min(len(dst), len(k.raw))], 0)
	if err != nil {
		return 0, os.NewSyscallError("epoll_wait", err)
	}
	for i := range k.raw[:n] {
		e := &k.raw[i]
		dst[i] = fdEvent{e.Fd, uint32(e.Pad), readiness(e.Events)}
	}
	return n, nil
}

// readiness translates what epoll says. What ends a connection makes it readable
// and writable too, as reads and writes return at once.
func readiness(events uint32) (is Readiness) {
	const ends = unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|ends) != 0 {
		is |= Readable
	}
	if events&(unix.EPOLLOUT|ends) != 0 {
		is |= Writable
	}
	if events&(unix.EPOLLHUP|unix.EPOLLRDHUP) != 0 {
		is |= HangUp
	}
	if events&unix.EPOLLERR != 0 {
		is |= Failed
	}
	return is
}

// watch stays in one Read, which never finds anything to read: in between Reads
// the runtime would forget what it was told. It is told when a
// descriptor becomes ready, not that it still is.
func (k *epoll) watch(ready func()) {
	_ = k.conn.Read(func(uintptr) bool { // ends when the file is closed
		ready()
		return false
	})
}

func (k *epoll) close() { k.file.Close() }
