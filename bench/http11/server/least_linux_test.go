package server

import (
	"bytes"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/internal/base/yield"
)

func init() {
	names = append(names, "bound-least", "bound-goroutine")
	servers["bound-least"] = func(l net.Listener) error { return serveLeast(l, (*least).run) }
	servers["bound-goroutine"] = func(l net.Listener) error { return serveLeast(l, (*least).runToEnd) }
}

// serveLeast is the least HTTP that a goroutine per connection can do: it finds
// the end of the head, the method, the path and the length of the body, and
// answers with what it has ready. It has no limits, no handler and no
// time-outs, and checks next to nothing. It reads and writes with calls of which
// the scheduler does not know.
func serveLeast(l net.Listener, run func(*least, syscall.RawConn)) error {
	var begin atomic.Pointer[[]byte]
	tick := func() {
		b := []byte("HTTP/1.1 200 OK\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
		begin.Store(&b)
	}
	tick()
	go func() {
		for range time.Tick(time.Second) {
			tick()
		}
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			run(&least{begin: &begin, buf: make([]byte, 4096)}, raw) // the connection ends with any error
		}()
	}
}

type least struct {
	begin *atomic.Pointer[[]byte]
	buf   []byte
	n     int // bytes in buf
	out   []byte
}

// run lives in one callback of RawConn.Read. It does not read until there is
// nothing left, so that it misses the end of a client that closes its side right
// behind a request: no real server may do so.
func (c *least) run(raw syscall.RawConn) { raw.Read(c.serve) }

// runToEnd asks for a request at a time, and waits once there is nothing to read,
// as a server must whose handler may itself read or take the connection. Like
// http11, it lets other connections run before it looks for the next request.
func (c *least) runToEnd(raw syscall.RawConn) {
	const most = 4 // times at once
	yields, ended, begun := 0, false, false
	turn := func(fd uintptr) bool {
		if begun && yields < most {
			yields++
			yield.Local()
		}
		begun = false
		n, errno := transfer(syscall.SYS_READ, int(fd), c.buf[c.n:])
		if errno == syscall.EAGAIN {
			yields = 0
			return false
		}
		ended = errno != 0 || n == 0 || c.got(n, fd)
		return true
	}
	for !ended && raw.Read(turn) == nil {
		begun = true
	}
}

// serve reports whether the connection ends.
func (c *least) serve(fd uintptr) bool {
	n, errno := transfer(syscall.SYS_READ, int(fd), c.buf[c.n:])
	if errno == syscall.EAGAIN {
		return false
	}
	return errno != 0 || n == 0 || c.got(n, fd)
}

// got answers what has arrived whole, and reports whether the connection ends.
func (c *least) got(n int, fd uintptr) bool {
	c.n += n
	used := 0
	c.out = c.out[:0]
	for used < c.n {
		size, ok := c.request(c.buf[used:c.n])
		if !ok {
			return true
		}
		if size == 0 {
			break
		}
		c.out = append(append(c.out, *c.begin.Load()...), leastRest...)
		used += size
	}
	c.n = copy(c.buf, c.buf[used:c.n])
	if len(c.out) == 0 {
		return false
	}
	m, errno := transfer(syscall.SYS_WRITE, int(fd), c.out)
	return errno != 0 || m < len(c.out)
}

const leastRest = "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\n\r\n" + answer

var lengthField = []byte("\r\nContent-Length: ")

// request returns the size of the request at the start of data, 0 if it is not
// complete.
func (c *least) request(data []byte) (size int, ok bool) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, true
	}
	head := data[:end+2]
	method := bytes.IndexByte(head, ' ')
	if method < 0 {
		return 0, false
	}
	path := head[method+1:]
	n := bytes.IndexByte(path, ' ')
	if n < 1 || path[0] != '/' {
		return 0, false
	}
	size = end + 4
	if string(head[:method]) == "POST" {
		at := bytes.Index(head, lengthField)
		if at < 0 {
			return 0, false
		}
		length := 0
		for _, d := range head[at+len(lengthField):] {
			if d < '0' || d > '9' {
				break
			}
			length = length*10 + int(d-'0')
		}
		if size += length; size > len(data) {
			return 0, true
		}
	}
	return size, true
}
