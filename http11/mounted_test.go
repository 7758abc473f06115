package http11

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// An adapted handler in a mounted server sends the trailer fields and the type
// that it does behind net/http alone.
func TestMountedAdapt(t *testing.T) {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	std := httptest.NewServer(mux)
	defer std.Close()
	mounted := httptest.NewServer(&Server{Handler: Adapt(mux)})
	defer mounted.Close()
	for path := range handlers {
		if !strings.HasPrefix(path, "/trailer") && !strings.HasPrefix(path, "/pieces") {
			continue
		}
		want := ask(t, std.URL, "GET", path, nil, "", false)
		if got := ask(t, mounted.URL, "GET", path, nil, "", false); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\n, want\n%s", path, got, want)
		}
	}
}

// A mounted server sends no informational response once the head is sent, and
// none to HTTP/1.0.
func TestMountedInform(t *testing.T) {
	handler := HandlerFunc(func(c *Context) {
		if err := c.Inform(103, "Link", "early"); err != nil {
			t.Error(err)
		}
		c.SetHeader("X-A", "1")
		c.Flush()
		if err := c.Inform(103, "Link", "late"); err != ErrHeadWritten {
			t.Errorf("after the head: %v", err)
		}
	})
	std := httptest.NewServer(&Server{Handler: handler})
	defer std.Close()
	for _, base := range []string{std.URL, "http://" + serve(t, &Server{Handler: handler})} {
		got := ask(t, base, "GET", "/", nil, "", false)
		if got.header.Get("X-A") != "1" || got.header.Get("Link") != "" {
			t.Errorf("%s", got)
		}
		old := talk(t, strings.TrimPrefix(base, "http://"), "GET / HTTP/1.0\r\n\r\n", false)
		if strings.Contains(old, " 103 ") || !strings.Contains(old, "X-A: 1\r\n") {
			t.Errorf("HTTP/1.0 is answered with %q", old)
		}
	}
}

// A request that arrives through net/http has the client's address, its fields
// Connection and Content-Length, and TLS, as one from a connection has.
func TestMountedRequest(t *testing.T) {
	seen := make(chan string, 1)
	native := HandlerFunc(func(c *Context) {
		seen <- fmt.Sprint(c.RemoteAddr(), " ", c.Header("Connection"), " ", c.Header("Content-Length"))
		c.Body()
	})
	adapted := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			t.Error("adapted: no TLS state")
		}
		seen <- fmt.Sprint(r.RemoteAddr, " ", r.Header.Get("Connection"), " ", r.Header.Get("Content-Length"))
		io.Copy(io.Discard, r.Body)
	}))
	for name, h := range map[string]Handler{"native": native, "adapted": adapted} {
		server := httptest.NewTLSServer(&Server{Handler: h})
		nc, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(nc, "POST / HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\nContent-Length: 3\r\n\r\nabc")
		if got, want := <-seen, nc.LocalAddr().String()+" X-Hop 3"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		nc.Close()
		server.Close()
	}
}

// A client of a proxy sends the whole URL, which tells the proxy where to ask.
func TestMountedTargets(t *testing.T) {
	handler := HandlerFunc(func(c *Context) { c.WriteString(c.Target().String() + " " + c.Host().String()) })
	mounted := httptest.NewServer(&Server{Handler: handler})
	defer mounted.Close()
	for _, addr := range []string{mounted.Listener.Addr().String(), serve(t, &Server{Handler: handler})} {
		for target, host := range map[string]string{"http://b:80/c?d": "b:80", "/c?d": "a", "//e/f": "a"} {
			got := talk(t, addr, "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false)
			if !strings.HasSuffix(got, "\r\n\r\n"+target+" "+host) {
				t.Errorf("%s: answered with %q", target, got)
			}
		}
	}
}

// A middleware may replace the client's address by one without a port, and a
// client may have none.
func TestMountedRemoteAddr(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "192.0.2.1", "2001:db8::1", "@", ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = addr
		(&Server{Handler: HandlerFunc(func(c *Context) {
			got := c.RemoteAddr()
			if addr == "" && got != nil || addr != "" && (got == nil || got.String() != addr) {
				t.Errorf("%q: %v", addr, got)
			}
		})}).ServeHTTP(httptest.NewRecorder(), r)
	}
}

// A mounted handler can close the connection, answer before the end of the
// body, and leave content out, all as on a connection of a Server.
func TestMountedResponse(t *testing.T) {
	handler := HandlerFunc(func(c *Context) {
		switch c.Path().String() {
		case "/close":
			c.SetHeader("Connection", "close")
			c.WriteString("bye")
		case "/dialogue":
			Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				if err := errors.Join(rc.EnableFullDuplex(), rc.Flush()); err != nil {
					t.Error(err)
				}
				io.Copy(w, r.Body)
			})).ServeHTTP11(c)
		case "/short":
			c.SetContentLength(9)
			c.WriteString("short")
		}
	})
	mounted := httptest.NewServer(&Server{Handler: handler})
	defer mounted.Close()
	for name, addr := range map[string]string{
		"mounted": mounted.Listener.Addr().String(), "served": serve(t, &Server{Handler: handler}),
	} {
		open := func(head string) (net.Conn, *http.Response) {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { nc.Close() })
			nc.SetDeadline(time.Now().Add(20 * time.Second))
			io.WriteString(nc, head)
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, head, err)
			}
			return nc, resp
		}

		_, resp := open("GET /close HTTP/1.1\r\nHost: a\r\n\r\n")
		if got, _ := io.ReadAll(resp.Body); !resp.Close || string(got) != "bye" {
			t.Errorf("%s: /close: %q, closes %v", name, got, resp.Close)
		}

		nc, resp := open("POST /dialogue HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n")
		io.WriteString(nc, "late")
		if got, err := io.ReadAll(resp.Body); string(got) != "late" || err != nil {
			t.Errorf("%s: /dialogue: %q, %v", name, got, err)
		}

		_, resp = open("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
		if got, err := io.ReadAll(resp.Body); string(got) != "short" || err != io.ErrUnexpectedEOF {
			t.Errorf("%s: /short: %q, %v", name, got, err)
		}
	}
}
