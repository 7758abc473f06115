package http11

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A stateLog is what Server.ConnState was told of each connection, in order.
type stateLog struct {
	mu   sync.Mutex
	told map[net.Conn]string // guarded by mu
}

func (l *stateLog) add(nc net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[net.Conn]string{}
	}
	l.told[nc] += state.String() + " "
	if nc.LocalAddr() == nil || nc.RemoteAddr() == nil {
		l.told[nc] += "without an address "
	}
}

// all returns what was told of all connections, once n have ended.
func (l *stateLog) all(t *testing.T, n int) (all string) {
	waitFor(t, "the connections' end", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		all = ""
		ended := 0
		for _, told := range l.told {
			all += told
			if len(told) > 8 && (told[len(told)-7:] == "closed " || told[len(told)-9:] == "hijacked ") {
				ended++
			}
		}
		return ended == n
	})
	return all
}

// ConnState is told what that of net/http is told.
func TestConnState(t *testing.T) {
	config, trusting := secure()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a failure shows in the states
		if r.URL.Path == "/hijack" {
			nc, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			nc.Close()
		}
	})
	const head, end = "GET / HTTP/1.1\r\nHost: h\r\n", "\r\n"
	for name, pieces := range map[string][]string{
		"nothing":    {},
		"a request":  {head + end},
		"two":        {head + end, head + end},
		"in pieces":  {head[:5], head[5:], end},
		"cut off":    {head},
		"close":      {head + "Connection: close\r\n" + end},
		"malformed":  {"GET\r\n"},
		"a body":     {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", "abc", head + end},
		"hijacked":   {head + end, "GET /hijack HTTP/1.1\r\nHost: h\r\n\r\n"},
		"a long one": {"GET / HTTP/1.1\r\nHost: h\r\nX: " + fmt.Sprintf("%05000d", 0) + "\r\n\r\n"},
	} {
		for _, encrypted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/TLS=%v", name, encrypted), func(t *testing.T) {
				look := func(addr string) {
					nc, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					if encrypted {
						nc = tls.Client(nc, trusting)
						nc.(*tls.Conn).Handshake() // a failure shows in the states
					}
					for _, p := range pieces {
						io.WriteString(nc, p) // the same
						if len(p) < 4 || p[len(p)-4:] != "\r\n\r\n" {
							time.Sleep(5 * time.Millisecond) // so that it arrives by itself
							continue
						}
						nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // a body may be late
						nc.Read(make([]byte, 1<<10))
					}
				}
				var reference stateLog
				s := httptest.NewUnstartedServer(h)
				s.Config.ConnState = reference.add
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
				if encrypted {
					s.TLS = config
					s.StartTLS()
				} else {
					s.Start()
				}
				defer s.Close()
				look(s.Listener.Addr().String())
				want := reference.all(t, 1)
				eachEngine(t, func(t *testing.T) {
					var ours stateLog
					server := &Server{Handler: Adapt(h), ConnState: ours.add}
					if encrypted {
						server.TLS = config
					}
					look(serve(t, server))
					if got := ours.all(t, 1); got != want {
						t.Errorf("told %q\nnet/http: %q", got, want)
					}
				})
			})
		}
	}
}

// The connection has its addresses as long as a call of ConnState takes, also when it is hijacked, and
// somebody else may close it meanwhile.
func TestConnStateAddresses(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		var ours atomic.Value // the client's end
		s := &Server{Handler: HandlerFunc(func(c *Context) {
			if !c.Path().Equal("/hijack") {
				c.WriteString("content")
				return
			}
			nc, _, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			nc.Close()
		}), ConnState: func(nc net.Conn, state http.ConnState) {
			if state != http.StateHijacked && state != http.StateIdle {
				return // the client may be gone, or not know its address yet
			}
			time.Sleep(time.Millisecond) // others get time
			local, remote, client := nc.LocalAddr(), nc.RemoteAddr(), ours.Load().(net.Conn)
			if local == nil || local.String() != client.RemoteAddr().String() || remote.String() != client.LocalAddr().String() {
				t.Errorf("%v: the addresses are %v and %v", state, local, remote)
			}
		}}
		addr := serve(t, s)
		for range 20 {
			nc, r := dial(t, addr, "")
			ours.Store(nc)
			io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			answer(t, r)
			io.WriteString(nc, "GET /hijack HTTP/1.1\r\nHost: h\r\n\r\n")
			if got, _ := io.ReadAll(r); len(got) > 0 {
				t.Errorf("%q at the end", got)
			}
			nc.Close()
		}
	})
}

// ConnState may close a connection that it is told of: a new one, as a limit does, or an
// idle one, as draining does, which has sent its responses.
func TestConnStateCloses(t *testing.T) {
	for _, at := range []http.ConnState{http.StateNew, http.StateIdle} {
		t.Run(at.String(), func(t *testing.T) {
			eachEngine(t, func(t *testing.T) {
				var told stateLog
				s := &Server{Handler: HandlerFunc(func(c *Context) { c.WriteString("content") })}
				s.ConnState = func(nc net.Conn, state http.ConnState) {
					told.add(nc, state)
					if state == at {
						if err := nc.Close(); err != nil {
							t.Error(err)
						}
					}
				}
				addr := serve(t, s)
				const n = 20
				for range n {
					nc, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
					if at == http.StateIdle {
						for range 2 {
							if _, got := answer(t, r); got != "content" {
								t.Errorf("answered with %q", got)
							}
						}
					}
					if got, _ := io.ReadAll(r); len(got) > 0 { // the close may reset the connection
						t.Errorf("%q at the end", got)
					}
					nc.Close()
				}
				told.all(t, n)
				waitFor(t, "the connections' end", func() bool { return s.Stats().Conns == 0 })
			})
		})
	}
}

// What a handler writes after its connection was closed is not sent.
func TestConnStateCloseInHandler(t *testing.T) {
	for name, size := range map[string]int{"collected": 1, "streamed": 100_000} {
		t.Run(name, func(t *testing.T) {
			handler := func() (http.HandlerFunc, func(net.Conn, http.ConnState)) {
				var conn net.Conn
				return func(w http.ResponseWriter, _ *http.Request) {
						conn.Close() // an error shows at the client
						w.Write(make([]byte, size))
					}, func(nc net.Conn, state http.ConnState) {
						if state == http.StateNew {
							conn = nc
						}
					}
			}
			look := func(addr string) string {
				_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				got, _ := io.ReadAll(r) // the close may reset the connection
				return string(got)
			}
			h, told := handler()
			reference := httptest.NewUnstartedServer(h)
			reference.Config.ConnState = told
			reference.Start()
			defer reference.Close()
			want := look(reference.Listener.Addr().String())
			eachEngine(t, func(t *testing.T) {
				h, told := handler()
				if got := look(serve(t, &Server{Handler: Adapt(h), ConnState: told})); got != want {
					t.Errorf("sent %q\nnet/http: %q", got, want)
				}
			})
		})
	}
}

// Any goroutine may close any connection, whatever it does at the time.
func TestConnStateClosesConcurrently(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		var mu sync.Mutex
		open := map[net.Conn]bool{}
		s := &Server{Handler: HandlerFunc(func(c *Context) { c.WriteString("content") })}
		s.ConnState = func(nc net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			if state == http.StateNew {
				open[nc] = true
			} else if state == http.StateClosed {
				if !open[nc] {
					t.Error("closed twice, or never new")
				}
				delete(open, nc)
			}
		}
		addr := serve(t, s)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				for range 100 {
					nc, err := net.Dial("tcp", addr)
					if err != nil {
						t.Error(err)
						return
					}
					for range 5 { // it may be closed at any time
						io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
						nc.Read(make([]byte, 100))
					}
					nc.Close()
				}
			})
		}
		var closer sync.WaitGroup
		closer.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
				mu.Lock()
				for nc := range open {
					go nc.Close() // twice, at times
					break
				}
				mu.Unlock()
			}
		})
		wg.Wait()
		close(stop)
		closer.Wait()
		waitFor(t, "the connections' end", func() bool { return s.Stats().Conns == 0 })
		mu.Lock()
		defer mu.Unlock()
		if len(open) > 0 {
			t.Errorf("%d connections were not closed", len(open))
		}
	})
}
