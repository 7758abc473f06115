package http11

import (
	"bufio"
	"fmt"
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
