package load

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// simulate runs the load against the server and hands the result to check. Time stands still
// while any goroutine works, so a machine that is busy or stops for seconds changes no figure.
func simulate(t *testing.T, c Config, srv *http.Server, check func(Result)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		go srv.Serve(l)
		defer srv.Close()
		c.Address, c.dial = "127.0.0.1:80", l.dial
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the server has seen the end of its connections
		check(r)
	})
}

// pipes listens for connections in memory.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.accepted <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-l.accepted:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }
