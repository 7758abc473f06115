package http11

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A control sets what only the handler knows, natively or through net/http.
type control struct {
	name    string
	readBy  func(time.Time) error
	writeBy func(time.Time) error
	body    io.Reader
	write   func([]byte) (int, error)
	flush   func() error
}

// controlled runs f as a native and as an adapted handler, on each engine,
// plain and over TLS. ask sends it a request on a new connection.
func controlled(t *testing.T, body, write time.Duration, f func(control), client func(t *testing.T, name string, ask func(string) net.Conn)) {
	native := HandlerFunc(func(c *Context) {
		f(control{"native", c.SetReadDeadline, c.SetWriteDeadline, c.BodyReader(), c.Write, c.Flush})
	})
	byNetHTTP := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.EnableFullDuplex(); err != nil {
			t.Errorf("EnableFullDuplex: %v", err)
		}
		f(control{"adapted", rc.SetReadDeadline, rc.SetWriteDeadline, r.Body, w.Write, rc.Flush})
	}))
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		for _, encrypted := range []bool{false, true} {
			for name, h := range map[string]Handler{"native": native, "adapted": byNetHTTP} {
				if encrypted {
					name += " over TLS"
				}
				t.Run(name, func(t *testing.T) {
					s := &Server{Handler: h, ReadBodyTimeout: body, WriteTimeout: write}
					if encrypted {
						s.TLS = config
					}
					addr := serve(t, s)
					client(t, name, func(request string) net.Conn {
						nc, err := net.Dial("tcp", addr)
						if err != nil {
							t.Fatal(err)
						}
						if encrypted {
							nc = tls.Client(nc, trusting)
						}
						t.Cleanup(func() { nc.Close() })
						nc.SetDeadline(time.Now().Add(20 * time.Second))
						if _, err := io.WriteString(nc, request); err != nil {
							t.Fatal(err)
						}
						return nc
					})
				})
			}
		}
	})
}

const halfABody = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345"

// A handler's deadline ends reads of the body, including one in progress, and
// overrides the server's time-out, here an hour.
func TestSetReadDeadline(t *testing.T) {
	for name, set := range map[string]func(c control, in chan<- struct{}) error{
		"before": func(c control, in chan<- struct{}) error {
			defer close(in)
			return c.readBy(time.Now().Add(10 * time.Millisecond))
		},
		"while it waits": func(c control, in chan<- struct{}) error {
			go func() {
				defer close(in)
				time.Sleep(20 * time.Millisecond) // most likely it is waiting by then
				if err := c.readBy(time.Now()); err != nil {
					panic(err)
				}
			}()
			return nil
		},
		"moved, while it waits": func(c control, in chan<- struct{}) error {
			err := c.readBy(time.Now().Add(time.Hour))
			go func() {
				defer close(in)
				time.Sleep(20 * time.Millisecond)
				if err := errors.Join(c.readBy(time.Time{}), c.readBy(time.Now().Add(time.Millisecond))); err != nil {
					panic(err)
				}
			}()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			controlled(t, time.Hour, 0, func(c control) {
				in := make(chan struct{})
				if err := set(c, in); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				got, err := io.ReadAll(c.body)
				<-in
				if string(got) != "12345" || !timedOut(err) {
					t.Errorf("%s: %q, %v", c.name, got, err)
				}
			}, func(t *testing.T, name string, ask func(string) net.Conn) {
				resp, _ := answer(t, bufio.NewReader(ask(halfABody)))
				if resp.StatusCode != 408 || !resp.Close {
					t.Errorf("%v", resp)
				}
			})
		})
	}
}

// Never means never for a reading handler; the server's time-out applies to
// what it leaves unread.
func TestNoReadDeadline(t *testing.T) {
	controlled(t, 50*time.Millisecond, 0, func(c control) {
		if err := c.readBy(time.Time{}); err != nil {
			t.Error(err)
		}
		var got [10]byte
		n, err := io.ReadAtLeast(c.body, got[:], 8)
		fmt.Fprintf(writer(c.write), "%q %v", got[:n], err)
	}, func(t *testing.T, name string, ask func(string) net.Conn) {
		nc := ask(halfABody)
		time.Sleep(150 * time.Millisecond) // longer than the server's time-out
		io.WriteString(nc, "678")
		r := bufio.NewReader(nc)
		if _, got := answer(t, r); got != `"12345678" <nil>` {
			t.Errorf("answered with %q", got)
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("%q, %v after the answer: want the end of the connection", rest, err)
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// A handler's deadline ends writes to a client that does not read, including
// one in progress.
func TestSetWriteDeadline(t *testing.T) {
	for name, set := range map[string]func(c control) error{
		"before": func(c control) error { return c.writeBy(time.Now().Add(100 * time.Millisecond)) },
		"while it waits": func(c control) error {
			go func() {
				time.Sleep(100 * time.Millisecond) // most likely it is waiting by then
				if err := c.writeBy(time.Now()); err != nil {
					panic(err)
				}
			}()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			controlled(t, 0, time.Hour, func(c control) {
				if err := set(c); err != nil {
					t.Error(err)
				}
				for {
					if _, err := c.write(make([]byte, 1<<20)); err != nil {
						failed <- err
						return
					}
				}
			}, func(t *testing.T, name string, ask func(string) net.Conn) {
				ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				if err := <-failed; !timedOut(err) {
					t.Errorf("%s: Write returned %v, want a time-out", name, err)
				}
			})
		})
	}
}

// A handler's deadline ends a stream also while the client takes all of it.
func TestSetWriteDeadlineStream(t *testing.T) {
	failed := make(chan error, 1)
	controlled(t, 0, time.Hour, func(c control) {
		c.write([]byte("some"))
		err := errors.Join(c.flush(), c.writeBy(time.Now()))
		if err != nil {
			t.Error(err)
		}
		c.write([]byte("more"))
		failed <- c.flush()
	}, func(t *testing.T, name string, ask func(string) net.Conn) {
		all, _ := io.ReadAll(ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")) // over TLS, it is cut off
		if err := <-failed; !timedOut(err) || bytes.Contains(all, []byte("more")) {
			t.Errorf("%s: Flush returned %v, want a time-out; the client has %q", name, err, all)
		}
	})
}

// A handler's settings end with its request.
func TestDeadlinesEnd(t *testing.T) {
	controlled(t, 0, 0, func(c control) {
		body, err := io.ReadAll(c.body)
		if err := errors.Join(c.readBy(time.Now()), c.writeBy(time.Now().Add(time.Hour))); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(writer(c.write), "%q %v", body, err)
		c.flush()
	}, func(t *testing.T, name string, ask func(string) net.Conn) {
		nc := ask("")
		r := bufio.NewReader(nc)
		for range 3 {
			io.WriteString(nc, halfABody)
			time.Sleep(5 * time.Millisecond)
			io.WriteString(nc, "67890")
			if _, got := answer(t, r); got != `"1234567890" <nil>` {
				t.Errorf("answered with %q", got)
			}
		}
	})
}

// MaxBody decides for each request, overriding MaxBodyBytes, and before the
// handler is called if the length is announced.
func TestMaxBody(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		const small, large = 10, 100
		s := Server{MaxBodyBytes: 50, Handler: HandlerFunc(func(c *Context) {
			if c.Path().Equal("/unread") {
				t.Error("the handler is called")
			}
			if body, err := c.Body(); err == nil {
				fmt.Fprintf(c, "%d bytes", body.Len())
			}
		}), OnPanic: func(q Request, v any, _ []byte) {
			if !q.Path().Equal("/panic") || v != "deliberate" {
				t.Errorf("OnPanic: %v, %v", q.Path(), v)
			}
		}, MaxBody: func(q Request) int64 {
			switch {
			case q.Path().Equal("/panic"):
				panic("deliberate")
			case q.Path().Equal("/large"):
				return large
			}
			return small
		}}
		addr := serve(t, &s)
		for _, c := range []struct {
			path    string
			bytes   int
			chunked bool
			want    string
		}{
			{"/", small, false, "10 bytes"},
			{"/", small, true, "10 bytes"},
			{"/", small + 1, true, "413"},
			{"/unread", small + 1, false, "413"},
			{"/large", large, false, "100 bytes"},
			{"/large", large, true, "100 bytes"},
			{"/large", large + 1, false, "413"},
			{"/large", large + 1, true, "413"},
			{"/panic", 1, false, "500"},
		} {
			resp, body := upload(t, addr, c.path, strings.Repeat("x", c.bytes), c.chunked)
			if got := fmt.Sprint(resp.StatusCode); body != c.want && got != c.want {
				t.Errorf("%s, %d bytes, chunked %v: %s %q, want %s", c.path, c.bytes, c.chunked, got, body, c.want)
			}
		}
		got := talk(t, addr, "POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", true)
		if !strings.HasPrefix(got, "HTTP/1.1 413 ") {
			t.Errorf("a length beyond any: %q", got)
		}
	})
}

// upload sends a body and reads the response.
func upload(t *testing.T, addr, path, body string, chunked bool) (*http.Response, string) {
	t.Helper()
	framing := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	if chunked {
		framing = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	_, r := dial(t, addr, "POST "+path+" HTTP/1.1\r\nHost: h\r\n"+framing)
	return answer(t, r)
}

// A handler changes the body limit of its request: the last value counts, until
// reading begins.
func TestSetMaxBodyBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		limits := func(c *Context) {
			for limit := range strings.SplitSeq(strings.Trim(c.Path().String(), "/"), ",") {
				var n int64
				fmt.Sscan(limit, &n)
				if err := c.SetMaxBodyBytes(n); err != nil {
					t.Errorf("%s: %v", limit, err)
				}
			}
		}
		addr := serve(t, &Server{MaxBodyBytes: 1000, Handler: HandlerFunc(func(c *Context) {
			if limits(c); c.Query().Equal("unread") {
				c.WriteString("unread")
				return
			}
			var all bytes.Buffer
			var first [1]byte
			n, err := c.BodyReader().Read(first[:])
			all.Write(first[:n])
			if n > 0 && c.SetMaxBodyBytes(1<<20) == nil {
				t.Error("SetMaxBodyBytes is accepted when a part was read")
			}
			if err == nil {
				_, err = all.ReadFrom(c.BodyReader())
			}
			if err == nil || err == io.EOF {
				fmt.Fprintf(c, "%d bytes", all.Len())
			}
		})})
		for _, c := range []struct {
			path, want string
			bytes      int
			closes     bool
		}{
			{"/10", "10 bytes", 10, false},
			{"/10", "413", 11, true},
			{"/0", "413", 1, true},
			{"/-1", "413", 1, true},
			{"/10,20", "20 bytes", 20, false},
			{"/10,20,5", "413", 6, true},
			{"/100?unread", "unread", 100, false},
			{"/10?unread", "unread", 11, true},
		} {
			for _, chunked := range []bool{false, true} {
				resp, body := upload(t, addr, c.path, strings.Repeat("x", c.bytes), chunked)
				if got := fmt.Sprint(resp.StatusCode); body != c.want && got != c.want {
					t.Errorf("%s, %d bytes, chunked %v: %s %q, want %s", c.path, c.bytes, chunked, got, body, c.want)
				}
				if !chunked && resp.Close != c.closes {
					t.Errorf("%s, %d bytes: the connection closes: %v, want %v", c.path, c.bytes, resp.Close, c.closes)
				}
			}
		}
	})
}

// Behind Adapt, http.MaxBytesReader reports an exceeded limit with its own
// error, and the client sees how the handler responds.
func TestMaxBytesReader(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 100))
			var tooLong *http.MaxBytesError
			if errors.As(err, &tooLong) {
				http.Error(w, "too long", http.StatusRequestEntityTooLarge)
				return
			}
			fmt.Fprintf(w, "%d bytes, %v", len(body), err)
		}))})
		for n, want := range map[int]string{100: "100 bytes, <nil>", 101: "too long\n", 3_000_000: "too long\n"} {
			for _, chunked := range []bool{false, true} {
				if _, got := upload(t, addr, "/", strings.Repeat("x", n), chunked); got != want {
					t.Errorf("%d bytes, chunked %v: %q, want %q", n, chunked, got, want)
				}
			}
		}
	})
}
