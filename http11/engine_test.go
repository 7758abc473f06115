package http11

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Handlers that announced that they may block do not delay others.
func TestMayBlock(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		release := make(chan struct{})
		var blocked atomic.Int64
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			if c.Path().Equal("/release") {
				close(release)
				return
			}
			c.MayBlock()
			c.MayBlock()
			blocked.Add(1)
			<-release
		})})
		n := 2 * runtime.GOMAXPROCS(0) // more than there are loops
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if got := talk(t, addr, "GET /wait HTTP/1.0\r\n\r\n", false); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
					t.Errorf("answered with %q", got)
				}
			})
		}
		waitFor(t, "the handlers", func() bool { return blocked.Load() == int64(n) })
		talk(t, addr, "GET /release HTTP/1.0\r\n\r\n", false)
		wg.Wait()
	})
}

// With Readiness a waiting connection has no goroutine, not even with a partial
// head, and is served when the rest arrives.
func TestWaitingTakesNoGoroutine(t *testing.T) {
	if len(engines) == 1 {
		t.Skip("Readiness is not for this platform")
	}
	engine = Readiness
	defer func() { engine = Goroutines }()
	s := &Server{Handler: HandlerFunc(echo)}
	addr := serve(t, s)
	const n = 200
	ask := func(nc net.Conn, r *bufio.Reader, request string) {
		io.WriteString(nc, request)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != 200 {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	before := goroutinesOf(t, s)
	conns, readers := make([]net.Conn, n), make([]*bufio.Reader, n)
	for i := range conns {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		conns[i], readers[i] = nc, bufio.NewReader(nc)
		ask(nc, readers[i], "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if i%2 == 0 {
			io.WriteString(nc, "GET / HTTP/1.1\r\nHo")
		}
	}
	waitFor(t, "the parts of heads", func() bool { return s.Stats().Memory.Requests == n/2 })
	if got := goroutines(); got > before+10 {
		t.Errorf("%d goroutines with %d connections, %d without", got, n, before)
	}
	for i, nc := range conns {
		if i%2 == 0 {
			ask(nc, readers[i], "st: h\r\n\r\n")
		}
	}
}

// goroutinesOf returns how many goroutines there are once s serves: as many loops
// as there are CPUs begin with it.
func goroutinesOf(t *testing.T, s *Server) int {
	waitFor(t, "the server", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.listeners) > 0
	})
	return goroutines()
}

// goroutines counts them while the world is stopped. NumGoroutine counts those
// that have ended, too, while a collection frees their stacks.
func goroutines() int {
	n, _ := runtime.GoroutineProfile(make([]runtime.StackRecord, 1))
	return n
}

func TestEngineNames(t *testing.T) {
	if got := fmt.Sprint(Goroutines, Readiness, Engine(7)); got != "goroutines readiness Engine(7)" {
		t.Error(got)
	}
}
