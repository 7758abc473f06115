package http11

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lateUses are all ways to reach a connection that a handler may keep beyond
// Hijack. Each returns an error or panics, unless it cannot reach the
// connection.
func lateUses(c *Context, body io.Reader, file string) map[string]func() error {
	const evil = "evil"
	return map[string]func() error{
		"Write":            func() error { _, err := c.WriteString(evil); return err },
		"long Write":       func() error { _, err := c.WriteString(strings.Repeat(evil, 50_000)); return err },
		"Flush":            c.Flush,
		"Error":            func() error { return c.Error(500, evil) },
		"Inform":           func() error { return c.Inform(103, "Link", evil) },
		"SendFile":         func() error { return c.SendFile(file) },
		"Body":             func() error { _, err := c.Body(); return err },
		"BodyReader":       func() error { _, err := c.BodyReader().Read(make([]byte, 100)); return err },
		"kept BodyReader":  func() error { _, err := body.Read(make([]byte, 100)); return err },
		"SetReadDeadline":  func() error { return c.SetReadDeadline(time.Now()) },
		"SetWriteDeadline": func() error { return c.SetWriteDeadline(time.Now()) },
		"Hijack":           func() error { _, _, err := c.Hijack(); return err },
	}
}

// harmlessUses may succeed after Hijack, without reaching the connection.
func harmlessUses(c *Context) map[string]func() {
	return map[string]func(){
		"Context":  func() { c.Context().Done() },
		"MayBlock": c.MayBlock,
		"Recall":   func() { c.Recall() },
		"Reset":    func() { c.Reset() },
		"SetField": func() { c.SetHeader("X", "evil") },
		"OnStream": func() { c.OnStream(func(w io.Writer) io.WriteCloser { return upper{w} }) },
		"MaxBody":  func() { c.SetMaxBodyBytes(1) },
	}
}

// abused uses everything a handler has kept, on another goroutine, which may
// panic once the request has ended, and checks that nothing succeeds.
func abused(t *testing.T, c *Context, body io.Reader, file string, ended bool) {
	guarded := func(name string, f func()) {
		defer func() {
			if v := recover(); v != nil && !ended {
				t.Errorf("%s panicked with %v", name, v)
			}
		}()
		f()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			for name, f := range lateUses(c, body, file) {
				guarded(name, func() {
					err := f()
					if err == nil || ended && !errors.Is(err, ErrEnded) {
						t.Errorf("%s after Hijack, handler returned %v: %v", name, ended, err)
					}
				})
			}
			for name, f := range harmlessUses(c) {
				guarded(name, f)
			}
		}
	}()
	<-done
}

// A handler that has hijacked may keep anything: none of it writes to the
// connection or reads from it, before the handler returns or after.
func TestUseAfterHijack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(file, []byte(strings.Repeat("evil", 50_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		for _, encrypted := range []bool{false, true} {
			for _, withBody := range []bool{false, true} {
				testUseAfterHijack(t, encrypted, withBody, file, config, trusting)
			}
		}
	})
}

func testUseAfterHijack(t *testing.T, encrypted, withBody bool, file string, config, trusting *tls.Config) {
	const n = 8 // undisturbed round trips of the new owner
	returned, abusedOnce, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &Server{Handler: HandlerFunc(func(c *Context) {
		body := c.BodyReader()
		wrapped := c.Conn()
		nc, _, err := c.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			defer close(done)
			defer nc.Close()
			<-returned
			abused(t, c, body, file, true)
			close(abusedOnce)
			if err := echoLines(nc); err != nil {
				t.Error(err)
			}
		}()
		abused(t, c, body, file, false)
		if got, want := wrapped.LocalAddr().String(), nc.LocalAddr().String(); got != want {
			t.Errorf("Conn has the address %s, the connection %s", got, want)
		}
		if err := controlDescriptor(wrapped); err == nil {
			t.Error("Conn reaches the descriptor after Hijack")
		}
	}), Access: func(*Access) { close(returned) }, OnPanic: func(_ Request, v any, stack []byte) {
		t.Errorf("the handler panicked with %v\n%s", v, stack)
	}}
	if encrypted {
		s.TLS = config
	}
	addr := serve(t, s)
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if encrypted {
		nc = tls.Client(nc, trusting)
	}
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	request := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	if withBody { // none of it arrives
		request = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n"
	}
	io.WriteString(nc, request)
	<-abusedOnce
	r := bufio.NewReader(nc)
	for range n {
		io.WriteString(nc, "mine\n")
		if got, err := r.ReadString('\n'); got != "mine\n" || err != nil {
			t.Fatalf("TLS %v, body %v: the new owner's line comes back as %.100q, %v", encrypted, withBody, got, err)
		}
	}
	nc.(interface{ CloseWrite() error }).CloseWrite()
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("%.100q, %v at the end", rest, err)
	}
	<-done
}

func controlDescriptor(nc net.Conn) error {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(uintptr) {})
}

// echoLines echoes its input.
func echoLines(nc io.ReadWriter) error {
	r := bufio.NewReader(nc)
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err == nil {
			_, err = io.WriteString(nc, line)
		}
		if err != nil {
			return err
		}
	}
}

type readWriter struct {
	io.Reader
	io.Writer
}

// The writer and the body of Adapt do not reach a hijacked connection.
func TestAdaptedUseAfterHijack(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		done := make(chan struct{})
		addr := serve(t, &Server{Handler: Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			nc, rw, err := rc.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				defer close(done)
				defer nc.Close()
				for range 100 {
					w.WriteHeader(500)
					if _, err := io.WriteString(w, "evil"); err == nil {
						t.Error("Write succeeds")
					}
					if n, err := r.Body.Read(make([]byte, 10)); n > 0 || err == nil {
						t.Errorf("Read returned %d, %v", n, err)
					}
					if err := errors.Join(rc.SetReadDeadline(time.Now()), rc.SetWriteDeadline(time.Now())); err == nil {
						t.Error("a deadline is set")
					}
					if rc.Flush() == nil {
						t.Error("Flush succeeds")
					}
				}
				if err := echoLines(readWriter{rw, nc}); err != nil { // some bytes may be buffered
					t.Error(err)
				}
			}()
		}))})
		nc, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
		io.WriteString(nc, "mine\n")
		if got, err := r.ReadString('\n'); got != "mine\n" || err != nil {
			t.Errorf("the new owner's line comes back as %.100q, %v", got, err)
		}
		nc.(*net.TCPConn).CloseWrite() // an error shows in the next read
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("%.100q, %v at the end", rest, err)
		}
		<-done
	})
}

// Hijack is refused while another goroutine, or the function of OnStream, is
// about to stream the response.
func TestHijackWhileStreamingBegins(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			c.OnStream(func(io.Writer) io.WriteCloser {
				if nc, _, err := c.Hijack(); err == nil {
					nc.Close()
					t.Error("Hijack succeeds")
				}
				return nil
			})
			c.WriteString("content")
			if err := c.Flush(); err != nil {
				t.Error(err)
			}
		})})
		_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, got := answer(t, r); got != "content" {
			t.Errorf("answered with %q", got)
		}
	})
}

// Deadlines of a hijacked connection belong to its new owner, even over TLS,
// where the server itself tolerates slow readers.
func TestHijackedDeadlines(t *testing.T) {
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		failed := make(chan error, 1)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, &Server{TLS: config, WriteTimeout: 2 * time.Second, Handler: HandlerFunc(func(c *Context) {
			nc, _, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			nc.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
			for err == nil {
				_, err = nc.Write(make([]byte, 1<<20))
			}
			failed <- err
		})}, l)
		nc, err := tls.Dial("tcp", l.Addr().String(), trusting)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		for buf := make([]byte, 1<<10); ; time.Sleep(time.Millisecond) { // slow, but steady
			select {
			case err := <-failed:
				if !timedOut(err) {
					t.Errorf("Write returned %v", err)
				}
				return
			case <-ctx.Done():
				t.Fatal("the write deadline is passed over")
			default:
				nc.Read(buf) // the writer reports the result
			}
		}
	})
}
