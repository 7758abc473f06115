package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A generator keeps connections busy from one thread, in a closed loop. It
// shares the machine with the server, so it does little beside its system calls,
// and works in batches: it reads all answers that have arrived, then sends the
// next request on each of their connections.
type generator struct {
	set      int // of epoll
	clients  []*client
	events   [connections]unix.EpollEvent
	answered []*client
}

// A client is one keep-alive connection that knows how long an answer is.
type client struct {
	fd    int
	batch []byte // requests, sent at once
	depth int    // how many
	size  int    // of an answer
	buf   []byte // for the answers to batch, and a byte
	n     int    // bytes in buf
	id    []byte // eight digits of batch to count up in each request, or nil
	asked int
}

func newGenerator(addr, request string, depth, connections int) (*generator, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	g := &generator{set: set}
	for range connections {
		if err := g.connect(addr, request, depth); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *generator) connect(addr, request string, depth int) error {
	conn, size, err := dial(addr, request)
	if err != nil {
		return err
	}
	fd, err := detach(conn)
	if err != nil {
		return err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(len(g.clients))}
	g.clients = append(g.clients, &client{fd: fd, batch: []byte(strings.Repeat(request, depth)), depth: depth,
		size: size, buf: make([]byte, depth*size+1)})
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(g.set, unix.EPOLL_CTL_ADD, fd, &event))
}

// detach takes a connection from the runtime's poller.
func detach(conn net.Conn) (fd int, err error) {
	defer conn.Close() // the other descriptor keeps it open
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, err
	}
	closed := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if closed != nil {
		return -1, closed
	}
	return fd, os.NewSyscallError("fcntl", err)
}

func (g *generator) close() {
	for _, c := range g.clients {
		unix.Close(c.fd)
	}
	unix.Close(g.set)
}

// vary makes the requests of each connection differ.
func (g *generator) vary() {
	for _, c := range g.clients {
		at := bytes.Index(c.batch, []byte("X-Request-Id: ")) + len("X-Request-Id: ")
		c.id = c.batch[at : at+8]
	}
}

// run sends that many batches over all connections, and returns when all are
// answered.
func (g *generator) run(batches int) error {
	first := g.clients[:min(batches, len(g.clients))]
	for _, c := range first {
		if err := c.send(); err != nil {
			return err
		}
	}
	unsent := batches - len(first)
	for unanswered := batches; unanswered > 0; {
		n, err := unix.EpollWait(g.set, g.events[:], 10_000)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("epoll_wait", err)
		case n == 0:
			return errors.New("no answer for 10 s")
		}
		g.answered = g.answered[:0]
		for _, e := range g.events[:n] {
			c := g.clients[e.Fd]
			done, err := c.receive()
			if err != nil {
				return err
			}
			if done {
				g.answered = append(g.answered, c)
			}
		}
		unanswered -= len(g.answered)
		for _, c := range g.answered[:min(unsent, len(g.answered))] {
			if err := c.send(); err != nil {
				return err
			}
			unsent--
		}
	}
	return nil
}

func (c *client) send() error {
	if c.id != nil {
		c.asked++
		for i, n := len(c.id)-1, c.asked; i >= 0; i, n = i-1, n/10 {
			c.id[i] = byte('0' + n%10)
		}
	}
	if n, errno := transfer(syscall.SYS_WRITE, c.fd, c.batch); errno != 0 || n < len(c.batch) {
		return fmt.Errorf("write: %d of %d bytes: %w", n, len(c.batch), errno)
	}
	return nil
}

// receive reads once, and reports whether all answers to the batch have
// arrived. It checks each of them.
func (c *client) receive() (bool, error) {
	n, errno := transfer(syscall.SYS_READ, c.fd, c.buf[c.n:])
	if errno == syscall.EAGAIN {
		return false, nil
	}
	if errno != 0 || n == 0 {
		return false, fmt.Errorf("read: the connection has ended: %w", errno)
	}
	c.n += n
	want := c.size * c.depth
	if c.n < want {
		return false, nil
	}
	for i := 0; i < want; i += c.size {
		if string(c.buf[i:i+12]) != "HTTP/1.1 200" || string(c.buf[i+c.size-len(answer):i+c.size]) != answer {
			return false, fmt.Errorf("unexpected answer %q", c.buf[i:i+c.size])
		}
	}
	if c.n > want {
		return false, fmt.Errorf("%d bytes of answer, want %d", c.n, want)
	}
	c.n = 0
	return true, nil
}

// BenchmarkServer: an operation is one request.
func BenchmarkServer(b *testing.B) {
	for _, load := range loads {
		for _, name := range names {
			b.Run(fmt.Sprintf("load=%s/impl=%s", load.name, name), func(b *testing.B) {
				benchmark(b, name, load.request, load.depth, load.name == varied)
			})
		}
	}
}

func benchmark(b *testing.B, name, request string, depth int, vary bool) {
	const round = connections * 256 // requests
	server := start(b, name)
	g, err := newGenerator(server.addr, request, depth, connections)
	if err != nil {
		b.Fatal(err)
	}
	defer g.close()
	if vary {
		g.vary()
	}
	run := func() {
		if err := g.run(round / depth); err != nil {
			b.Fatal(name, err)
		}
	}
	run() // pools fill, stacks grow
	runtime.GC()
	before, client := server.usage(b, "usage"), used(b)
	for b.Loop() {
		run()
	}
	elapsed := b.Elapsed()
	client = used(b) - client
	report(b, float64(b.N)*round, elapsed, before, server.usage(b, "usage"), client)
}

// used returns the CPU time that this process has taken.
func used(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Every server answers every load as it should: the comparison is fair only then.
func TestServers(t *testing.T) {
	for _, name := range names {
		server := start(t, name)
		for _, load := range loads {
			g, err := newGenerator(server.addr, load.request, load.depth, 2)
			if err != nil {
				t.Fatalf("%s %s: %v", name, load.name, err)
			}
			if load.name == varied {
				g.vary()
			}
			if err := g.run(20); err != nil {
				t.Errorf("%s %s: %v", name, load.name, err)
			}
			g.close()
		}
		checkResponse(t, name, server.addr)
	}
}
