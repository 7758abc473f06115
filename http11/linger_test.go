package http11

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A flood of oversized uploads does not cost a goroutine each if connections
// have none: a limited number linger until they see their response, the rest
// are closed.
func TestFloodOfUploads(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		const flood = 3 * maxLingering
		s := &Server{Handler: HandlerFunc(echo)}
		addr := serve(t, s)
		before := goroutinesOf(t, s)
		bound := before + maxLingering + 20 // loops that change their leader, and the like
		if engine == Goroutines {
			bound = before + flood + 20
		}
		conns := make([]net.Conn, flood)
		for i := range conns {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			conns[i] = nc
			nc.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(nc, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n%010000d", 0)
			if n := goroutines(); n > bound {
				t.Fatalf("%d goroutines with %d uploads, %d before: want at most %d", n, i+1, before, bound)
			}
		}
		waitFor(t, "the refusals", func() bool { return s.Stats().Refused == flood })
		if n := goroutines(); n > bound {
			t.Errorf("%d goroutines with %d uploads, %d before: want at most %d", n, flood, before, bound)
		}
		answered := 0
		for _, nc := range conns {
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err == nil && resp.StatusCode == 413 {
				answered++
			}
			nc.Close()
		}
		if answered < maxLingering {
			t.Errorf("%d clients have seen their answer, want at least %d", answered, maxLingering)
		}
		waitFor(t, "the connections' end", func() bool { return s.Stats().Conns == 0 })
		if n := s.lingering.Load(); n != 0 {
			t.Errorf("%d count as lingering when all are gone", n)
		}
	})
}

// A connection that waits for its client to see the end does so no longer
// because the server shuts down meanwhile.
func TestShutdownWhileLingering(t *testing.T) {
	defer func(d time.Duration) { lingering = d }(lingering)
	lingering = 100 * time.Millisecond
	eachEngine(t, func(t *testing.T) {
		s := &Server{Handler: HandlerFunc(func(*Context) { panic("deliberate") }), OnPanic: func(Request, any, []byte) {}}
		_, r := dial(t, serve(t, s), "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, err := io.ReadAll(r); err != nil { // the server has sent everything, the client stays
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; { // each call nudges the connection
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			err := s.Shutdown(ctx)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	})
}
