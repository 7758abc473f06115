package http11

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// OnPanic may read the request that it ends; nobody may read it afterwards.
func TestOnPanicHasTheRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		for _, streamed := range []bool{false, true} {
			kept := make(chan Request, 1)
			s := &Server{Handler: HandlerFunc(func(c *Context) {
				c.Body()
				if streamed {
					c.Flush()
				}
				panic("deliberate")
			}), OnPanic: func(q Request, v any, stack []byte) {
				if v != "deliberate" || !strings.Contains(string(stack), "hooks_test.go") {
					t.Errorf("OnPanic: %v, %s", v, stack)
				}
				got := q.Method().String() + " " + q.Path().String() + "?" + q.Query().String() + " " + q.Header("X-A").String()
				if got != "POST /a?b c" {
					t.Errorf("the request reads %q", got)
				}
				kept <- q
			}}
			talk(t, serve(t, s), "POST /a?b HTTP/1.1\r\nHost: h\r\nX-A: c\r\nContent-Length: 4\r\n\r\nbody", true)
			q := <-kept
			waitFor(t, "the connection's end", func() bool { return s.Stats().Conns == 0 })
			refused(t, "Path", func() { _ = q.Path().String() })
			refused(t, "Header", func() { _ = q.Header("X-A").String() })
			if n := s.Stats().Panics; n != 1 {
				t.Errorf("%d panics, want 1", n)
			}
		}
	})
}

// refused fails unless f panics, as methods without an error result do once the
// request has ended.
func refused(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if v := recover(); v == nil {
			t.Errorf("%s is not refused when the request has ended", name)
		}
	}()
	f()
}

// Conn is valid while the handler runs: for addresses and options, not for
// data.
func TestConnIsForSettings(t *testing.T) {
	config, _ := secure()
	eachEngine(t, func(t *testing.T) {
		for _, encrypted := range []bool{false, true} {
			kept := make(chan net.Conn, 1)
			s := &Server{Handler: HandlerFunc(func(c *Context) {
				nc := c.Conn()
				buf := make([]byte, 10)
				for name, f := range map[string]func() error{
					"Read":             func() error { _, err := nc.Read(buf); return err },
					"Write":            func() error { _, err := nc.Write(buf); return err },
					"Close":            nc.Close,
					"SetDeadline":      func() error { return nc.SetDeadline(time.Now()) },
					"SetReadDeadline":  func() error { return nc.SetReadDeadline(time.Now()) },
					"SetWriteDeadline": func() error { return nc.SetWriteDeadline(time.Now()) },
				} {
					if f() == nil {
						t.Errorf("%s succeeds", name)
					}
				}
				if nc.LocalAddr() == nil || nc.RemoteAddr().String() != c.RemoteAddr().String() {
					t.Errorf("addresses %v and %v, want %v", nc.LocalAddr(), nc.RemoteAddr(), c.RemoteAddr())
				}
				if err := controlDescriptor(nc); err != nil {
					t.Errorf("Control: %v", err)
				}
				if state := nc.(connectionStater).ConnectionState(); state.HandshakeComplete != encrypted {
					t.Errorf("TLS %v: %+v", encrypted, state)
				}
				c.WriteString("done")
				kept <- nc
			})}
			scheme := "http://"
			if encrypted {
				s.TLS, scheme = config, "https://"
			}
			addr := serve(t, s)
			if got := fetched(t, scheme+addr); got != "done" {
				t.Errorf("answered with %q", got)
			}
			nc := <-kept
			waitFor(t, "the connection's end", func() bool { return s.Stats().Conns == 0 })
			refused(t, "LocalAddr", func() { nc.LocalAddr() })
			refused(t, "RemoteAddr", func() { nc.RemoteAddr() })
			refused(t, "ConnectionState", func() { nc.(connectionStater).ConnectionState() })
			if err := controlDescriptor(nc); !errors.Is(err, ErrEnded) {
				t.Errorf("Control after the request: %v", err)
			}
			if _, err := nc.Write([]byte("late")); err == nil {
				t.Error("Write succeeds after the request")
			}
		}
	})
}

// OnConnError reports transient accept errors; TestPlainHTTPOnTLS covers
// handshakes.
func TestOnConnErrorOfAccept(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := &scarce{Listener: inner}
		l.failures.Store(2)
		told := make(chan error, 10)
		serveOn(t, &Server{Handler: HandlerFunc(echo), OnConnError: func(remote net.Addr, err error) {
			if remote != nil {
				t.Errorf("the address is %v", remote)
			}
			told <- err
		}}, l)
		talk(t, inner.Addr().String(), "GET / HTTP/1.0\r\n\r\n", false)
		for range 2 {
			if err := <-told; !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "accept") {
				t.Errorf("told %v", err)
			}
		}
		if len(told) > 0 {
			t.Errorf("told %v", <-told)
		}
	})
}

// fetched fetches with net/http's client, on a connection of its own that
// closes.
func fetched(t *testing.T, url string) string {
	t.Helper()
	_, config := secure()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
