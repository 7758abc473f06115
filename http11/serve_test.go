package http11

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTLS(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		ts := httptest.NewUnstartedServer(nil)
		ts.StartTLS()
		defer ts.Close()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, &Server{Memory: m, Handler: HandlerFunc(echo), TLS: &tls.Config{Certificates: ts.TLS.Certificates}}, l)
		client := ts.Client()
		for i := range 20 {
			body := strings.Repeat("x", i*5000)
			resp, err := client.Post("https://"+l.Addr().String()+"/a", "text/plain", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !strings.HasSuffix(string(got), "\n\n"+body) {
				t.Errorf("%d bytes echoed, %v; want %d and fields", len(got), err, len(body))
			}
		}
		client.CloseIdleConnections()
	})
}

func TestReusePort(t *testing.T) { eachEngine(t, testReusePort) }

func testReusePort(t *testing.T) {
	a, err := ListenReusePort("tcp", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := ListenReusePort("tcp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: HandlerFunc(echo)}
	serveOn(t, s, a)
	serveOn(t, s, b)
	for range 50 {
		if got := talk(t, a.Addr().String(), "GET / HTTP/1.0\r\n\r\n", false); !strings.Contains(got, "200 OK") {
			t.Errorf("answered with %q", got)
		}
	}
}

// The first bytes of the new protocol may arrive with the request.
func TestHijack(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		addr := servePrompt(t, &Server{Memory: m, IdleTimeout: 100 * time.Millisecond, Handler: HandlerFunc(func(c *Context) {
			if c.Path().Equal("/plain") {
				c.WriteString("plain")
				return
			}
			nc, buffered, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := c.Hijack(); !errors.Is(err, ErrHijacked) {
				t.Errorf("the second Hijack returned %v", err)
			}
			go func() { // it outlasts the handler
				defer nc.Close()
				time.Sleep(200 * time.Millisecond) // longer than the idle time-out
				fmt.Fprintf(nc, "raw %s", buffered)
				io.Copy(nc, nc)
			}()
		})})
		got := talk(t, addr, "GET /plain HTTP/1.1\r\nHost: h\r\n\r\n"+
			"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n12345", true)
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK") || !strings.HasSuffix(got, "\r\n\r\nplainraw 12345") {
			t.Errorf("answered with %q", got)
		}
	})
}

func TestUnix(t *testing.T) { eachEngine(t, testUnix) }

func testUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	s := &Server{Handler: HandlerFunc(echo), Engine: engine}
	end := make(chan error, 1)
	go func() { end <- s.ListenAndServe("unix", path) }()
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	waitFor(t, "an answer", func() bool {
		resp, err := client.Get("http://h/")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	client.CloseIdleConnections()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-end; !errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
}

// The access log has every request, including refused ones; Idle is called
// after the last response.
func TestHooks(t *testing.T) { eachEngine(t, testHooks) }

func testHooks(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	var idle atomic.Int64
	write := LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	addr := serve(t, &Server{Handler: HandlerFunc(echo), Idle: func(time.Duration) bool { idle.Add(1); return true },
		Access: func(a *Access) { mu.Lock(); write(a); mu.Unlock() }})
	talk(t, addr, "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\nPOST /c HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", true)
	mu.Lock()
	defer mu.Unlock()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "method=GET target=/a?b host=h remote=127.0.0.1:") ||
		!strings.Contains(lines[0], "status=200 bytes=25") || !strings.Contains(lines[1], "status=400") {
		t.Errorf("the log is %q", lines)
	}
	waitFor(t, "the idle hook", func() bool { return idle.Load() == 1 })
}

// Configurations that Serve refuses.
func TestBadServers(t *testing.T) {
	h := HandlerFunc(echo)
	for _, s := range []*Server{{}, {Handler: h, MaxConns: -1}, {Handler: h, MaxBodyBytes: -1},
		{Handler: h, MaxHeaderBytes: 1<<30 + 1},
		{Handler: h, Name: "a\r\nb"},
		{Handler: h, Memory: Memory{Mode: 77}}, {Handler: h, Engine: 77}} {
		err := s.ListenAndServe("tcp", "127.0.0.1:0")
		if err == nil || !strings.HasPrefix(err.Error(), "http11: ") || !strings.Contains(err.Error(), ";") {
			t.Errorf("ListenAndServe returned %v, want an error with a remedy", err)
		}
	}
	s := &Server{Handler: h}
	if err := s.ListenAndServe("tcp", "256.0.0.1:0"); err == nil {
		t.Error("an address that there is not was listened on")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.ListenAndServe("tcp", "127.0.0.1:0"); !errors.Is(err, ErrServerClosed) {
		t.Errorf("ListenAndServe after Close returned %v", err)
	}
}
