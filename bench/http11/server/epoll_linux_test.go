package server

import (
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/poll"
)

func init() {
	names = append(names, "bound-epoll")
	servers["bound-epoll"] = serveEpoll
}

// serveEpoll is the least that a server in Go can do: a loop on epoll for each
// P, one read and one write for a request, nothing else. What a generator
// measures of it is the most that it can measure of any server.
func serveEpoll(l net.Listener) error {
	sets := make([]*poll.Set, runtime.GOMAXPROCS(0))
	for i := range sets {
		set, err := poll.Open()
		if err != nil {
			return err
		}
		sets[i] = set
		go echo(set)
	}
	var next atomic.Uint32
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		fd, err := detach(conn)
		if err != nil {
			return err
		}
		set := sets[int(next.Add(1))%len(sets)]
		if err := set.Add(fd, unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd)}); err != nil {
			return err
		}
	}
}

// echo answers what arrives whole in one read, as the generators' requests do.
func echo(set *poll.Set) {
	var events [128]unix.EpollEvent
	filled := 0
	fetch := func(uintptr) bool {
		filled, _ = set.Fetch(events[:]) // the next Wait shows an error
		return filled > 0
	}
	buf := make([]byte, 64<<10)
	var out []byte
	for set.Wait(fetch) == nil {
		for _, e := range events[:filled] {
			fd := int(e.Fd)
			n, errno := transfer(syscall.SYS_READ, fd, buf)
			if errno == syscall.EAGAIN {
				continue
			}
			used, requests := whole(buf[:max(n, 0)])
			if errno != 0 || n == 0 || used < n {
				unix.Close(fd)
				continue
			}
			out = out[:0]
			for range requests {
				out = append(out, prebuilt...)
			}
			if m, errno := transfer(syscall.SYS_WRITE, fd, out); errno != 0 || m < len(out) {
				unix.Close(fd)
			}
		}
	}
}

// transfer is a read or write of which the scheduler does not know, as in http11.
//
// unsafe: p is not empty, and stays alive and in place during the call because
// its pointer is converted in the call's argument list.
func transfer(call uintptr, fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
