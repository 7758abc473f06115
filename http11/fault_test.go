package http11

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Each phase has its time-out: the response depends on what the client sent
// before it fell silent.
func TestTimeouts(t *testing.T) {
	const long, short = time.Hour, 30 * time.Millisecond
	for _, tc := range []struct {
		name, send, want  string
		idle, head, body  time.Duration
		timeouts, refused uint64
	}{
		{name: "idle, no request", idle: short, head: long, body: long},
		{name: "idle after a request", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", want: "HTTP/1.1 200",
			idle: short, head: long, body: long},
		{name: "head", send: "GET / HTTP/1.1\r\nHo", want: "HTTP/1.1 408",
			idle: long, head: short, body: long, timeouts: 1, refused: 1},
		{name: "head after a request", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nG", want: "HTTP/1.1 200",
			idle: long, head: short, body: long, timeouts: 1, refused: 1},
		{name: "body", send: "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab", want: "HTTP/1.1 408",
			idle: long, head: long, body: short, timeouts: 1, refused: 1},
		{name: "chunked body", send: "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
			want: "HTTP/1.1 408", idle: long, head: long, body: short, timeouts: 1, refused: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, m Memory) {
				s := &Server{Memory: m, Handler: HandlerFunc(echo),
					IdleTimeout: tc.idle, ReadHeaderTimeout: tc.head, ReadBodyTimeout: tc.body}
				start := servePrompt
				if tc.send == "" {
					start = serve
				}
				addr := start(t, s)
				if got := talk(t, addr, tc.send, false); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
					t.Errorf("answered with %q, want %q", got, tc.want)
				}
				if st := s.Stats(); st.Timeouts != tc.timeouts || st.Refused != tc.refused {
					t.Errorf("%d time-outs and %d refusals, want %d and %d", st.Timeouts, st.Refused, tc.timeouts, tc.refused)
				}
			})
		})
	}
}

// An occasional byte does not postpone the time-out of a head.
func TestDribbledHead(t *testing.T) { eachEngine(t, testDribbledHead) }

func testDribbledHead(t *testing.T) {
	s := &Server{Handler: HandlerFunc(echo), ReadHeaderTimeout: 100 * time.Millisecond}
	nc, err := net.Dial("tcp", serve(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	io.WriteString(nc, "GET / HTTP/1.1\r\n")
	closed := make(chan bool)
	go func() {
		io.Copy(io.Discard, nc)
		close(closed)
	}()
	for {
		select {
		case <-closed:
			if s.Stats().Timeouts != 1 {
				t.Errorf("statistics %+v, want one time-out", s.Stats())
			}
			return
		case <-time.After(10 * time.Millisecond):
			io.WriteString(nc, "X") // fails when the server has closed
		}
	}
}

// The server gives up on a client that does not read its response, but not on
// one that reads slowly.
func TestWriteTimeout(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		failed := make(chan error, 1)
		s := &Server{Memory: m, WriteTimeout: 100 * time.Millisecond, Handler: HandlerFunc(func(c *Context) {
			for range 1000 {
				if _, err := c.Write(make([]byte, 100_000)); err != nil {
					failed <- err
					return
				}
			}
		})}
		nc, err := net.Dial("tcp", serve(t, s))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		var gone *writeError
		if err := <-failed; !errors.As(err, &gone) {
			t.Errorf("Write returned %v", err)
		}
		if st := s.Stats(); st.Timeouts != 1 {
			t.Errorf("statistics %+v, want one time-out", st)
		}
	})
}

// A handler slower than the idle time-out does not lose its connection, whose
// read deadline has passed meanwhile.
func TestSlowHandler(t *testing.T) { eachEngine(t, testSlowHandler) }

func testSlowHandler(t *testing.T) {
	addr := serve(t, &Server{IdleTimeout: 100 * time.Millisecond, Handler: HandlerFunc(func(c *Context) {
		if c.Path().Equal("/slow") {
			time.Sleep(250 * time.Millisecond)
		}
		c.WriteString("done")
	})})
	// The server may give up on a client that the machine delays between two
	// requests.
	var err error
	for range 5 {
		if err = askThree(addr); err == nil {
			return
		}
	}
	t.Error(err)
}

func askThree(addr string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	r := bufio.NewReader(nc)
	for _, path := range []string{"/", "/slow", "/"} {
		fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		io.Copy(io.Discard, resp.Body)
	}
	return nil
}

// Half-open connections hold only the request memory that their bytes need, and
// others are served.
func TestSlowloris(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		s := &Server{Memory: m, Handler: HandlerFunc(echo)}
		addr := serve(t, s)
		const attackers = 500
		var held []net.Conn
		defer func() {
			for _, nc := range held {
				nc.Close()
			}
		}()
		for i := range attackers {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, nc)
			if i%2 == 0 {
				io.WriteString(nc, "GET / HTTP/1.1\r\nX")
			}
		}
		waitFor(t, "the attackers' requests", func() bool { return s.Stats().Memory.Requests == attackers/2 })
		for range 100 {
			if got := talk(t, addr, "GET / HTTP/1.0\r\n\r\n", false); !strings.Contains(got, "200 OK") {
				t.Fatalf("answered with %q", got)
			}
		}
		if st := s.Stats(); st.Conns < attackers || st.Memory.InUseBytes > attackers/2*8192 {
			t.Errorf("statistics %+v: want all attackers, and at most 8 KB for each that has sent something", st)
		}
	})
}

// Clients that reset the connection in the middle of a body or of a response
// leave nothing behind, and the handler sees an error.
func TestResets(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		before := goroutines()
		var bodies, writes atomic.Int64
		s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			if c.Method().Equal("POST") {
				if _, err := c.Body(); err != nil {
					bodies.Add(1)
				}
				return
			}
			for range 10_000 {
				if _, err := c.Write(make([]byte, 10_000)); err != nil {
					writes.Add(1)
					return
				}
			}
		})}
		addr := serve(t, s)
		const n = 50
		for i := range 2 * n {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			nc.(*net.TCPConn).SetLinger(0) // closing resets
			if i%2 == 0 {
				io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
			} else {
				io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				io.ReadFull(nc, make([]byte, 1000))
			}
			nc.Close()
		}
		waitFor(t, "the connections' end", func() bool { return s.Stats().Conns == 0 })
		if bodies.Load() > n || bodies.Load() == 0 || writes.Load() != n {
			t.Errorf("%d bodies and %d responses were broken off, want up to %d and %d", bodies.Load(), writes.Load(), n, n)
		}
		if st := s.Stats(); st.Memory.InUse != 0 || st.Memory.Requests != 0 {
			t.Errorf("left in use: %+v", st.Memory)
		}
		waitFor(t, "the goroutines' end", func() bool { return goroutines() <= before+kept(s) })
	})
}

// At most MaxConns are open; the rest are served in turn.
func TestMaxConns(t *testing.T) { eachEngine(t, testMaxConns) }

func testMaxConns(t *testing.T) {
	var open, most atomic.Int64
	s := &Server{MaxConns: 3, Handler: HandlerFunc(func(c *Context) {
		n := open.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		open.Add(-1)
	})}
	addr := serve(t, s)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if got := talk(t, addr, "GET / HTTP/1.0\r\n\r\n", false); !strings.Contains(got, "200 OK") {
				t.Errorf("answered with %q", got)
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d requests at a time, want at most 3", most.Load())
	}
}

// scarce is a listener that temporarily has no descriptors.
type scarce struct {
	net.Listener
	failures atomic.Int64
}

func (l *scarce) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestOutOfDescriptors(t *testing.T) { eachEngine(t, testOutOfDescriptors) }

func testOutOfDescriptors(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &scarce{Listener: inner}
	l.failures.Store(4)
	s := &Server{Handler: HandlerFunc(echo)}
	serveOn(t, s, l)
	if got := talk(t, inner.Addr().String(), "GET / HTTP/1.0\r\n\r\n", false); !strings.Contains(got, "200 OK") {
		t.Errorf("answered with %q", got)
	}
	if n := s.Stats().AcceptErrors; n != 4 {
		t.Errorf("%d accept errors, want 4", n)
	}
}
