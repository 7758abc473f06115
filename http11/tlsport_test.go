package http11

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// secure returns TLS configurations for a server and its clients.
func secure() (server, client *tls.Config) {
	ts := httptest.NewUnstartedServer(nil)
	ts.StartTLS()
	defer ts.Close()
	return &tls.Config{Certificates: ts.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true}
}

// A client that speaks plain HTTP on a TLS port is told so, as with net/http,
// even if it has sent more than the server reads before it knows.
func TestPlainHTTPOnTLS(t *testing.T) {
	std := httptest.NewUnstartedServer(nil)
	std.Config.ErrorLog = log.New(io.Discard, "", 0)
	std.StartTLS()
	defer std.Close()
	config, _ := secure()
	eachEngine(t, func(t *testing.T) {
		for _, ofListener := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := l.Addr().String()
			var told atomic.Int64
			s := &Server{Handler: HandlerFunc(echo), TLS: config, OnConnError: func(remote net.Addr, err error) {
				if remote == nil || !strings.Contains(err.Error(), "handshake") {
					t.Errorf("OnConnError: %v, %v", remote, err)
				}
				told.Add(1)
			}}
			if ofListener {
				s.TLS, l = nil, tls.NewListener(l, config)
			}
			serveOn(t, s, l)
			asked := int64(0)
			for i, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "PATCH", "CONNECT", "TRACE"} {
				for _, more := range []int{0, 100_000} {
					request := method + " / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", more) + "\r\n\r\n"
					asked++
					resp, text := plainAnswer(t, addr, request)
					if resp.StatusCode != 400 || !resp.Close || !strings.Contains(text, "HTTPS") {
						t.Errorf("%s with %d bytes, by a listener %v: %v with %q", method, more, ofListener, resp, text)
					}
					if more > 0 || i > 4 { // net/http resets, and does not know the others
						continue
					}
					if want, _ := plainAnswer(t, std.Listener.Addr().String(), request); want.StatusCode != resp.StatusCode {
						t.Errorf("%s: status %d, net/http's is %d", method, resp.StatusCode, want.StatusCode)
					}
				}
			}
			if got := talk(t, addr, "\x01\x02\x03\x04\x05\x06", true); strings.Contains(got, "HTTP") {
				t.Errorf("what is neither TLS nor HTTP is answered with %q", got)
			}
			asked++
			waitFor(t, "the reports", func() bool { return told.Load() == asked })
			if n := s.Stats().HandshakeErrors; n != uint64(asked) {
				t.Errorf("%d handshake errors, want %d", n, asked)
			}
		}
	})
}

// plainAnswer sends a request and returns the response, after which the
// connection must close.
func plainAnswer(t *testing.T, addr, request string) (*http.Response, string) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(nc, request) // an error shows in the answer
	r := bufio.NewReader(nc)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("%.20q, %d bytes: %v", request, len(request), err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%.20q, %d bytes: %v", request, len(request), err)
	}
	return resp, string(text)
}

// countedTLS is a connection of a listener that wraps TLS.
type countedTLS struct{ *tls.Conn }

type wrapsTLS struct{ net.Listener }

func (l wrapsTLS) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if t, ok := nc.(*tls.Conn); ok {
		nc = countedTLS{t}
	}
	return nc, err
}

// A listener may wrap the connections of TLS; net/http knows their state too.
func TestWrappedTLS(t *testing.T) {
	config, _ := secure()
	eachEngine(t, func(t *testing.T) {
		l, err := tls.Listen("tcp", "127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, &Server{Handler: HandlerFunc(func(c *Context) {
			fmt.Fprint(c, c.Conn().(connectionStater).ConnectionState().HandshakeComplete, " ")
			Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.TLS != nil && r.TLS.HandshakeComplete)
			})).ServeHTTP11(c)
		})}, wrapsTLS{l})
		if got := fetched(t, "https://"+l.Addr().String()); got != "true true" {
			t.Errorf("the native and the adapted handler see %s", got)
		}
	})
}

// A client and the server agree on HTTP/1.1 as with net/http; one that has only
// another protocol is refused.
func TestTLSProtocol(t *testing.T) {
	config, trusting := secure()
	ask := func(addr string) (seen string) {
		trusting := trusting.Clone()
		trusting.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for _, offers := range []string{"", "http/1.1", "h2 http/1.1", "h2", "http/1.1"} {
			trusting.NextProtos = strings.Fields(offers)
			nc, err := tls.Dial("tcp", addr, trusting)
			if err != nil {
				seen += fmt.Sprintf("%q: refused; ", offers)
				continue
			}
			io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") // a failure shows below
			answer, err := io.ReadAll(nc)
			state := nc.ConnectionState()
			nc.Close()
			seen += fmt.Sprintf("%q: %q, resumed %v, %.12q %v; ", offers, state.NegotiatedProtocol, state.DidResume, answer, err)
		}
		return seen
	}
	reference := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	reference.Config.ErrorLog = log.New(io.Discard, "", 0)
	reference.StartTLS()
	defer reference.Close()
	want := ask(reference.Listener.Addr().String())
	eachEngine(t, func(t *testing.T) {
		if got := ask(serve(t, &Server{Handler: HandlerFunc(echo), TLS: config})); got != want {
			t.Errorf("%s\nnet/http: %s", got, want)
		}
		if len(config.NextProtos) != 0 {
			t.Error("the caller's configuration has changed")
		}
	})
}
