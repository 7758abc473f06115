package http11

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A client that keeps its connection open after a refused upload does not hold up
// Shutdown, as with net/http.
func TestShutdownLeavesUploads(t *testing.T) {
	defer func(d time.Duration) { lingering = d }(lingering)
	lingering = time.Hour
	called, goOn := make(chan bool, 1), make(chan bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called <- true
		<-goOn
		http.Error(w, "no", http.StatusServiceUnavailable)
	})
	look := func(t *testing.T, addr string, shutdown func(context.Context) error, closing func() bool) {
		nc, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc")
		defer nc.Close()
		<-called
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		down := make(chan error, 1)
		go func() { down <- shutdown(ctx) }()
		waitFor(t, "Shutdown to begin", closing)
		goOn <- true
		if resp, _ := answer(t, r); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("status %d", resp.StatusCode)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
	}
	reference := httptest.NewServer(h)
	defer reference.Close()
	look(t, reference.Listener.Addr().String(), reference.Config.Shutdown, func() bool {
		nc, err := net.Dial("tcp", reference.Listener.Addr().String())
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	eachEngine(t, func(t *testing.T) {
		s := &Server{Handler: Adapt(h)}
		look(t, serve(t, s), s.Shutdown, s.closing.Load)
	})
}

// 413 does not wait for the rest of the body that it refuses.
func TestAdaptRefusesAtOnce(t *testing.T) {
	defer func(d time.Duration) { lingering = d }(lingering)
	lingering = time.Hour
	for name, body := range map[string]string{
		"length": "Content-Length: 100\r\n\r\n0123456789012345", "chunks": "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789012345\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 10)); err != nil {
					http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				}
			}, nil, func(t *testing.T, addr string) string {
				nc, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: h\r\n"+body)
				defer nc.Close()
				resp, text := answer(t, r)
				return fmt.Sprint(resp.Status, strings.TrimSpace(text), resp.Close)
			})
		})
	}
}
