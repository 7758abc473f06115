package http11

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
	"github.com/valyala/fasthttp"
)

// BenchmarkRequests serves requests from memory, a connection for each P and
// nothing else: what connections share beside the kernel shows as a request that costs
// more with more CPUs. isobar-idle also tells when it is idle.
func BenchmarkRequests(b *testing.B) {
	handler := http11.HandlerFunc(func(c *http11.Context) { c.WriteString("hello") })
	for _, side := range []struct {
		impl  string
		serve func(net.Listener) error
	}{
		{"isobar", (&http11.Server{Handler: handler}).Serve},
		{"isobar-idle", (&http11.Server{Handler: handler, Idle: func(time.Duration) bool { return false }}).Serve},
		{"fasthttp", (&fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) { c.WriteString("hello") }}).Serve},
	} {
		for _, q := range requests[:1] {
			b.Run(fmt.Sprintf("request=%s/impl=%s", q.name, side.impl), func(b *testing.B) {
				l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
				ended := make(chan error)
				go func() { ended <- side.serve(l) }()
				text := []byte(q.text)
				conns := runtime.GOMAXPROCS(0)
				var served sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				var all []*memoryConn
				for i := range conns {
					served.Add(1)
					c := &memoryConn{text: text, left: b.N*(i+1)/conns - b.N*i/conns, closed: served.Done}
					all = append(all, c)
					l.conns <- c
				}
				served.Wait()
				b.StopTimer()
				l.Close()
				<-ended
				for _, c := range all {
					if c.left != 0 || c.asked {
						b.Fatalf("%d requests left, asked %v", c.left, c.asked)
					}
				}
			})
		}
	}
}

// A memoryListener accepts what is sent to conns.
type memoryListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// A memoryConn sends the same request left times, each when the one before is
// answered.
type memoryConn struct {
	text   []byte
	rest   []byte // of the request that is being read
	left   int
	asked  bool
	once   sync.Once
	closed func()
}

var errNoAnswer = errors.New("a request was not answered")

func (c *memoryConn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		switch {
		case c.asked:
			return 0, errNoAnswer
		case c.left == 0:
			return 0, io.EOF
		}
		c.left--
		c.asked, c.rest = true, c.text
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *memoryConn) Write(b []byte) (int, error) {
	c.asked = false
	return len(b), nil
}

func (c *memoryConn) Close() error {
	c.once.Do(c.closed)
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr              { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr             { return memoryAddr{} }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
