package ingress

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// epoll is a signal through the kernel: an eventfd watched by an epoll
// instance, as in a loop that also waits for sockets.
type epoll struct{ poll, event int }

func newEpoll() (signal, error) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(event)})
		if err == nil {
			return epoll{poll, event}, nil
		}
		unix.Close(poll)
	}
	unix.Close(event)
	return nil, fmt.Errorf("epoll: %w", err)
}

func (e epoll) send() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	for {
		// EAGAIN means that the count is at its limit, so the loop will wake up.
		if _, err := unix.Write(e.event, one[:]); err != unix.EINTR {
			return
		}
	}
}

func (e epoll) wait() {
	var events [1]unix.EpollEvent
	for {
		if n, err := unix.EpollWait(e.poll, events[:], -1); n > 0 || err != nil && err != unix.EINTR {
			break
		}
	}
	var count [8]byte
	unix.Read(e.event, count[:]) // resets the count; if it is 0 there is nothing to reset
}

func (e epoll) close() {
	unix.Close(e.poll)
	unix.Close(e.event)
}
