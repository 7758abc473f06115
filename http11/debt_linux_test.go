package http11

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// resting reports whether no connection has a debt and nothing looks for one.
func (s *debts) resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) == 0 && !s.armed
}

// Each response of a batch leaves while the next handler waits, in every batch
// of a connection, and while others pipeline; then nothing is left to look at.
func TestEachFinishedResponseLeaves(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		const conns, rounds, depth = 4, 3, 8
		s := &Server{}
		seen := make([]chan int, conns) // responses that the client has, by connection
		for i := range seen {
			seen[i] = make(chan int, depth)
		}
		s.Handler = HandlerFunc(func(c *Context) {
			q := c.Query().String()
			if n := int(q[1] - '0'); n > 0 {
				if got := <-seen[q[0]-'0']; got != n-1 {
					t.Errorf("response %d has arrived, want %d", got, n-1)
				}
			}
			c.WriteString(q)
		})
		addr := serve(t, s)
		var all sync.WaitGroup
		for i := range conns {
			nc, r := dial(t, addr, "")
			all.Go(func() {
				for range rounds {
					var batch bytes.Buffer
					for n := range depth {
						fmt.Fprintf(&batch, "GET /?%d%d HTTP/1.1\r\nHost: h\r\n\r\n", i, n)
					}
					nc.Write(batch.Bytes()) // an error shows in the read
					for n := range depth {
						var body [2]byte
						resp, err := http.ReadResponse(r, nil)
						if err == nil {
							_, err = io.ReadFull(resp.Body, body[:])
						}
						if want := fmt.Sprint(i*10 + n + 100)[1:]; err != nil || string(body[:]) != want {
							t.Errorf("answered with %q, %v; want %q", body, err, want)
							return
						}
						seen[i] <- n
					}
					<-seen[i] // nothing follows the last one
				}
			})
		}
		all.Wait()
		waitFor(t, "the debts to end", s.debts.resting)
	})
}

// While a client does not read, nothing looks at its debt all the time. The
// finished response arrives once it reads, with the next handler still waiting.
func TestStuckDebt(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		small := func(option int) func(_, _ string, c syscall.RawConn) error {
			return func(_, _ string, c syscall.RawConn) (err error) {
				return errors.Join(c.Control(func(fd uintptr) {
					err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 4096)
				}), err)
			}
		}
		size := flushBytes - 1000 // beyond what both buffers take
		called, release := make(chan struct{}), make(chan struct{})
		s := &Server{Handler: HandlerFunc(func(c *Context) {
			if c.Path().Equal("/wait") {
				close(called)
				<-release
				return
			}
			c.Write(make([]byte, size))
		})}
		l, err := (&net.ListenConfig{Control: small(unix.SO_SNDBUF)}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, s, l)
		defer close(release)
		nc, err := (&net.Dialer{Control: small(unix.SO_RCVBUF)}).Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(20 * time.Second))
		const get = "GET %s HTTP/1.1\r\nHost: h\r\n\r\n"
		fmt.Fprintf(nc, get+get, "/", "/wait") // in one batch; an error shows in the answer
		<-called
		waitFor(t, "the debt to be given up for now", s.debts.resting)
		if _, body := answer(t, bufio.NewReader(nc)); len(body) != size {
			t.Errorf("%d bytes have arrived, want %d", len(body), size)
		}
	})
}
