//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package eventloop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/eventloop"
)

// An echoServer sends every line back to its sender. The loop owns all of it,
// so it needs no lock.
type echoServer struct {
	loop   *eventloop.Loop
	listen int // the listener's descriptor
	accept eventloop.Registration
	open   map[*echoConn]bool
}

// An echoConn is a connection. Descriptors are non-blocking: a read takes what
// has arrived, and a write what fits.
type echoConn struct {
	server *echoServer
	fd     int
	reg    eventloop.Registration
	wants  eventloop.Interest
	in     []byte // the beginning of a line
	out    []byte // lines not yet sent
	ended  bool   // the client sends no more, but may still read
}

const (
	maxLine = 64 << 10  // a longer one ends the connection
	maxOut  = 256 << 10 // with more to send, the server stops reading
)

func serveEcho(loop *eventloop.Loop, listen int) (s *echoServer, err error) {
	s = &echoServer{loop: loop, listen: listen, open: make(map[*echoConn]bool)}
	s.accept, err = loop.Register(listen, eventloop.Read, s.connect)
	return s, err
}

func (s *echoServer) connect(eventloop.Readiness) {
	fd, _, err := unix.Accept(s.listen)
	if err != nil {
		return // the client has gone, or the next call will succeed
	}
	unix.CloseOnExec(fd)
	c := &echoConn{server: s, fd: fd, wants: eventloop.Read}
	if err = unix.SetNonblock(fd, true); err == nil {
		c.reg, err = s.loop.Register(fd, c.wants, c.ready)
	}
	if err != nil {
		unix.Close(fd)
		return
	}
	s.open[c] = true
}

// ready moves data in both directions and says what to wait for next.
func (c *echoConn) ready(is eventloop.Readiness) {
	err := c.read(is)
	if err == nil {
		err = c.write()
	}
	if err != nil || c.ended && len(c.out) == 0 {
		c.close()
		return
	}
	wants := eventloop.Interest(0)
	if !c.ended && len(c.out) < maxOut {
		wants |= eventloop.Read
	}
	if len(c.out) > 0 {
		wants |= eventloop.Write
	}
	if wants != c.wants {
		c.wants = wants
		if c.reg.Modify(wants) != nil {
			c.close()
		}
	}
}

func (c *echoConn) read(is eventloop.Readiness) error {
	if is&eventloop.Readable == 0 {
		return nil
	}
	var buf [4096]byte
	n, err := unix.Read(c.fd, buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0: // the rest is a line too
		c.ended = true
		c.out = append(c.out, c.in...)
		c.in = nil
		return nil
	}
	c.in = append(c.in, buf[:n]...)
	end := bytes.LastIndexByte(c.in, '\n') + 1
	c.out = append(c.out, c.in[:end]...)
	c.in = append(c.in[:0], c.in[end:]...)
	if len(c.in) > maxLine {
		return errors.New("line too long")
	}
	return nil
}

func (c *echoConn) write() error {
	if len(c.out) == 0 {
		return nil
	}
	n, err := unix.Write(c.fd, c.out)
	if err == unix.EAGAIN || err == unix.EINTR {
		return nil
	}
	if err != nil {
		return err
	}
	c.out = append(c.out[:0], c.out[n:]...)
	return nil
}

func (c *echoConn) close() {
	c.reg.Unregister() // before the descriptor is closed
	unix.Close(c.fd)
	delete(c.server.open, c)
}

func (s *echoServer) close() {
	s.accept.Unregister()
	for c := range s.open {
		c.close()
	}
}

// talk is one client. It sends the second line in two parts, and ends the last
// line only by closing its half of the connection.
func talk(address string, id int) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	first := fmt.Sprintf("client %d: one\n", id)
	fmt.Fprint(conn, first, "tw")
	echo := make([]byte, len(first))
	if _, err := io.ReadFull(conn, echo); err != nil {
		return "", err
	}
	fmt.Fprint(conn, "o\nthree")
	conn.(*net.TCPConn).CloseWrite()
	rest, err := io.ReadAll(conn)
	return string(echo) + string(rest), err
}

// Example_echo runs a server that echoes lines, and clients that check it.
func Example_echo() {
	loop, err := eventloop.New(eventloop.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		fmt.Println(err)
		return
	}
	var server *echoServer
	raw.Control(func(fd uintptr) { server, err = serveEcho(loop, int(fd)) }) // open until Close
	if err != nil {
		fmt.Println(err)
		return
	}

	const clients = 100
	var answers [clients]string
	go func() {
		var wg sync.WaitGroup
		for id := range answers {
			wg.Go(func() {
				answer, err := talk(listener.Addr().String(), id)
				if err != nil {
					answer = err.Error()
				}
				answers[id] = answer
			})
		}
		wg.Wait()
		loop.Submit(server.close)
		loop.Shutdown(context.Background())
	}()
	if err := loop.Run(context.Background()); err != nil {
		fmt.Println(err)
	}

	wrong := 0
	for id, answer := range answers {
		if answer != fmt.Sprintf("client %d: one\ntwo\nthree", id) {
			wrong++
		}
	}
	fmt.Println(answers[7])
	fmt.Printf("%d clients, %d wrong answers, %d descriptors left\n", clients, wrong, loop.Stats().FDs)
	// Output:
	// client 7: one
	// two
	// three
	// 100 clients, 0 wrong answers, 0 descriptors left
}
