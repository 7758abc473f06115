package eventloop

import (
	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/poll"
)

// epoll is a kernel for Linux.
type epoll struct {
	*poll.Set
	raw [eventsLen]unix.EpollEvent
}

func newKernel() (kernel, error) {
	set, err := poll.Open()
	if err != nil {
		return nil, err
	}
	return &epoll{Set: set}, nil
}

// event encodes a registration for the kernel, which returns the last 64 bits unchanged.
func event(fd int32, gen uint32, i Interest) unix.EpollEvent {
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
	return e
}

func (k *epoll) add(fd int32, gen uint32, i Interest) error {
	return fdError("epoll_ctl", k.Add(int(fd), event(fd, gen, i)))
}

func (k *epoll) modify(fd int32, gen uint32, i Interest) error {
	return fdError("epoll_ctl", k.Modify(int(fd), event(fd, gen, i)))
}

func (k *epoll) remove(fd int32) error { return fdError("epoll_ctl", k.Remove(int(fd))) }

func (k *epoll) fetch(dst []fdEvent) (int, error) {
	n, err := k.Fetch(k.raw[:min(len(dst), len(k.raw))])
	for i := range k.raw[:n] {
		e := &k.raw[i]
		dst[i] = fdEvent{e.Fd, uint32(e.Pad), readiness(e.Events)}
	}
	return n, err
}

// readiness translates epoll's events. The end of a connection makes it
// readable and writable too, since reads and writes return at once.
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

// watch stays in one Wait, because the runtime drops notifications between two.
// A notification says that a descriptor became ready, not that it still is.
func (k *epoll) watch(ready func()) {
	_ = k.Wait(func(uintptr) bool { // returns when the set is closed
		ready()
		return false
	})
}

func (k *epoll) close() { k.Close() }
