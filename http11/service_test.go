package http11

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dial sends a request and returns the connection and a reader of the
// responses.
func dial(t testing.TB, addr, send string) (net.Conn, *bufio.Reader) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(nc, send); err != nil {
		t.Fatal(err)
	}
	return nc, bufio.NewReader(nc)
}

// answer reads a complete response.
func answer(t testing.TB, r *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// A finished response waits neither for the rest of a later request nor for its
// handler.
func TestFinishedResponsesLeave(t *testing.T) {
	const first = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, second := range map[string]string{
		"half a head":  "POST /2 HTTP/1.1\r\nHos",
		"half a body":  "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf",
		"half a chunk": "POST /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf",
		"a handler":    "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T) {
				release := make(chan struct{})
				addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
					if c.Path().Equal("/wait") {
						<-release
					}
					c.Body() // an error ends the connection
					c.WriteString("done")
				})})
				defer close(release)
				_, r := dial(t, addr, first+second)
				if _, body := answer(t, r); body != "done" {
					t.Errorf("answered with %q", body)
				}
			})
		})
	}
}

// Handlers that wait without MayBlock do not stop a server of loops from
// answering.
func TestHeldLoopsGoOn(t *testing.T) {
	if len(engines) == 1 {
		t.Skip("Readiness is not for this platform")
	}
	engine = Readiness
	defer func() { engine = Goroutines }()
	release := make(chan struct{})
	var waiting atomic.Int64
	s := &Server{Handler: HandlerFunc(func(c *Context) {
		if c.Path().Equal("/wait") {
			waiting.Add(1)
			<-release
		}
	})}
	addr := serve(t, s)
	defer close(release)
	n := 2 * runtime.GOMAXPROCS(0) // more than there are loops
	for range n {
		dial(t, addr, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
	}
	waitFor(t, "the handlers", func() bool { return waiting.Load() == int64(n) })
	_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	answer(t, r)
	if held := s.Stats().Held; held == 0 {
		t.Error("no loop counts as held")
	}
}

func TestContextEndsWithTheClient(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		ended := make(chan context.Context, 2)
		handler := func(ctx context.Context) {
			<-ctx.Done()
			ended <- ctx
		}
		adapted := Adapt(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { handler(r.Context()) }))
		notified := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-w.(interface{ CloseNotify() <-chan bool }).CloseNotify() // http.CloseNotifier, which is deprecated
			ended <- r.Context()
		}))
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			switch c.Path().String() {
			case "/adapted":
				adapted.ServeHTTP11(c)
			case "/notified":
				notified.ServeHTTP11(c)
			case "/native":
				handler(c.Context())
			}
		})})
		for _, path := range []string{"/native", "/adapted", "/notified"} {
			nc, _ := dial(t, addr, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
			nc.Close()
			<-ended
		}
	})
}

// A handler that left a body unread is not watching for its client, but a write
// tells.
func TestContextEndsWithAFailedWrite(t *testing.T) {
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		for _, encrypted := range []bool{false, true} {
			for _, asked := range []string{"before", "after"} {
				started, ended := make(chan bool), make(chan bool)
				s := &Server{Handler: HandlerFunc(func(c *Context) {
					var ctx context.Context
					if asked == "before" {
						ctx = c.Context()
					}
					started <- true
					for err := error(nil); err == nil; err = c.Flush() {
						c.WriteString("content")
					}
					if ctx == nil {
						ctx = c.Context()
					}
					<-ctx.Done()
					ended <- true
				})}
				if encrypted {
					s.TLS = config
				}
				nc, err := net.Dial("tcp", serve(t, s))
				if err != nil {
					t.Fatal(err)
				}
				to := nc
				if encrypted {
					to = tls.Client(nc, trusting)
				}
				io.WriteString(to, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n") // an error shows in the wait
				<-started
				nc.(*net.TCPConn).SetLinger(0)
				nc.Close()
				select {
				case <-ended:
				case <-time.After(20 * time.Second):
					t.Fatalf("asked for %s the write, with TLS %v: the context does not end", asked, encrypted)
				}
			}
		}
	})
}

// Each request has the values of its own connection, also where descriptors are
// used again, and ends with what ConnContext returned.
func TestConnContext(t *testing.T) {
	type key struct{}
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		for _, encrypted := range []bool{false, true} {
			base, cancel := context.WithCancel(context.Background())
			defer cancel()
			var calls atomic.Int64
			waiting := make(chan bool)
			adapted := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Context().Value(key{}), r.Context().Value(http.LocalAddrContextKey) != nil)
			}))
			s := &Server{Handler: HandlerFunc(func(c *Context) {
				switch c.Path().String() {
				case "/adapted":
					adapted.ServeHTTP11(c)
				case "/native":
					fmt.Fprint(c, c.Context().Value(key{}), true)
				case "/wait":
					waiting <- true
					<-c.Context().Done()
					fmt.Fprint(c, context.Cause(c.Context()))
				}
			}), ConnContext: func(nc net.Conn) context.Context {
				if calls.Add(1) == 1 {
					return nil
				}
				return context.WithValue(base, key{}, nc.RemoteAddr())
			}}
			client := func(nc net.Conn) net.Conn { return nc }
			if encrypted {
				s.TLS = config
				client = func(nc net.Conn) net.Conn { return tls.Client(nc, trusting) }
			}
			addr := serve(t, s)
			for i := range 20 {
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				to, want := client(nc), nc.LocalAddr().String()+" true"
				if i == 0 {
					want = "<nil> true"
				}
				r := bufio.NewReader(to)
				for _, path := range []string{"/native", "/adapted", "/native"} {
					io.WriteString(to, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n") // an error shows in the answer
					if _, got := answer(t, r); got != want {
						t.Errorf("%s of connection %d has %q, want %q", path, i, got, want)
					}
				}
				if i == 19 {
					io.WriteString(to, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
					<-waiting
					cancel()
					if _, got := answer(t, r); got != "context canceled" {
						t.Errorf("the context ended with %q", got)
					}
				}
				nc.Close()
			}
			if n := calls.Load(); n != 20 {
				t.Errorf("ConnContext was called %d times for 20 connections", n)
			}
		}
	})
}

// The byte read while watching the client is not lost.
func TestContextKeepsTheNextRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			if c.Path().Equal("/ask") {
				c.Context().Done()
				close(asked)
				<-release
			}
			c.WriteString(c.Path().String())
		})})
		nc, r := dial(t, addr, "GET /ask HTTP/1.1\r\nHost: h\r\n\r\n")
		<-asked
		io.WriteString(nc, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
		close(release)
		for _, want := range []string{"/ask", "/next"} {
			if _, got := answer(t, r); got != want {
				t.Errorf("answered with %q, want %q", got, want)
			}
		}
	})
}

func TestInform(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			if err := c.Inform(103, "Link", "</a.css>; rel=preload"); err != nil {
				t.Error(err)
			}
			c.WriteString("final")
		})})
		got := talk(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
		if !strings.HasPrefix(got, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 ") {
			t.Errorf("answered with %q", got)
		}
		if got := talk(t, addr, "GET / HTTP/1.0\r\n\r\n", false); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("HTTP/1.0 is answered with %q", got)
		}
	})
}

// Middleware can see and change a collected response, and filter a streamed
// one.
func TestMiddleware(t *testing.T) {
	long := strings.Repeat("streamed ", 20_000)
	eachEngine(t, func(t *testing.T) {
		next := func(c *Context) {
			c.SetStatus(201)
			c.SetHeader("Content-Type", "text/x")
			if c.Path().Equal("/long") {
				c.SetContentLength(int64(len(long)))
				c.WriteString(long)
				return
			}
			c.WriteString("collected")
		}
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			c.OnStream(func(w io.Writer) io.WriteCloser {
				c.SetHeader("X-Filter", "upper")
				return upper{w}
			})
			next(c)
			content, ok := c.Recall()
			if !ok {
				return
			}
			kind, _ := c.ResponseHeader("Content-Type")
			c.SetHeader("X-Seen", kind)
			c.WriteString(strings.ToUpper(content.String()))
		})})
		_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /long HTTP/1.1\r\nHost: h\r\n\r\n")
		resp, body := answer(t, r)
		if resp.StatusCode != 201 || resp.Header.Get("X-Seen") != "text/x" || body != "COLLECTED" || resp.ContentLength != 9 {
			t.Errorf("collected: %v %q", resp, body)
		}
		resp, body = answer(t, r)
		if resp.StatusCode != 201 || resp.Header.Get("X-Filter") != "upper" || body != strings.ToUpper(long)+"end" {
			t.Errorf("streamed: %v, %d bytes", resp, len(body))
		}
	})
}

// upper is a filter with a final message.
type upper struct{ w io.Writer }

func (u upper) Write(p []byte) (int, error) { return u.w.Write(bytes.ToUpper(p)) }
func (u upper) Close() error                { _, err := io.WriteString(u.w, "end"); return err }

// Every request that has begun has one access record, which says how it ended.
func TestAccessSaysHowRequestsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		ends := make(chan Access, 10)
		addr := serve(t, &Server{
			Access: func(a *Access) { ends <- *a }, OnPanic: func(Request, any, []byte) {},
			Handler: HandlerFunc(func(c *Context) {
				c.WriteString("part")
				switch c.Path().String() {
				case "/panic":
					c.Flush()
					panic("x")
				case "/abort":
					panic(http.ErrAbortHandler)
				case "/hijack":
					nc, _, err := c.Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					nc.Close()
				}
			})})
		for path, want := range map[string]End{
			"/": EndAnswered, "/panic": EndPanicked, "/abort": EndAborted, "/hijack": EndHijacked, "/a b": EndRefused,
		} {
			talk(t, addr, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
			a := <-ends
			if a.End != want {
				t.Errorf("%s: %v, want %v", path, a.End, want)
			}
			if want == EndAnswered && (a.Sent <= a.Bytes || a.Bytes != 4 || a.Err != nil || a.Status != 200) {
				t.Errorf("%s: %d bytes, %d sent, status %d, %v", path, a.Bytes, a.Sent, a.Status, a.Err)
			}
		}
	})
}

// BenchmarkFinishedLeaves reports how long a finished response waits for a
// later 20 ms handler: from the call of that handler until the client has the
// response.
func BenchmarkFinishedLeaves(b *testing.B) {
	for _, e := range engines {
		b.Run("engine="+e.String(), func(b *testing.B) {
			engine = e
			defer func() { engine = Goroutines }()
			called := make(chan time.Time, 1)
			addr := serve(b, &Server{Handler: HandlerFunc(func(c *Context) {
				if c.Path().Equal("/wait") {
					called <- time.Now()
					time.Sleep(20 * time.Millisecond)
				}
				c.WriteString("done")
			})})
			nc, r := dial(b, addr, "")
			var waits []float64
			for b.Loop() {
				io.WriteString(nc, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
				answer(b, r)
				waits = append(waits, float64(time.Since(<-called)))
				answer(b, r)
			}
			slices.Sort(waits)
			b.ReportMetric(waits[len(waits)/2], "p50-ns")
			b.ReportMetric(waits[len(waits)*99/100], "p99-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}
