package http11

import (
	"testing"

	"golang.org/x/sys/unix"
)

var engines = []Engine{Goroutines, Readiness}

// An event of a closed socket is not taken for one of the next socket with the
// same descriptor.
func TestEventsEndWithTheirSocket(t *testing.T) {
	l, err := newLoop(&Server{sockets: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.set.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	fd := pair[0]
	l.table = make([]*socket, fd+1)
	l.table[fd] = &socket{loop: l, fd: fd}
	l.events[0] = unix.EpollEvent{Fd: int32(fd), Events: unix.EPOLLIN | unix.EPOLLRDHUP}
	l.events[1] = unix.EpollEvent{Fd: int32(pair[1]), Events: unix.EPOLLIN}
	l.filled = 2
	l.remove(l.table[fd])
	next := &socket{loop: l, fd: fd}
	l.table[fd] = next
	l.table = append(l.table, make([]*socket, pair[1])...)
	other := &socket{loop: l, fd: pair[1]}
	l.table[pair[1]] = other
	if got := l.next(); got != other || next.ended {
		t.Errorf("the next socket is served for an event of the one before, or has ended: %v", next.ended)
	}
}
