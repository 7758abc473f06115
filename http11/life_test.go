package http11

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// untilClosed sends one request after another on a connection and calls going
// after a few. It returns how many were answered before the server closed. The
// last one may cross the close of an idle connection.
func untilClosed(t *testing.T, addr string, going func()) (answered int64) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		going()
		return 0
	}
	defer nc.Close()
	r := bufio.NewReader(nc)
	for {
		if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			return answered
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return answered
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" {
			t.Errorf("answered with %q, %v", body, err)
		}
		if answered++; answered == 4 {
			going()
		}
		if resp.Close {
			return answered
		}
	}
}

// Shutdown answers every request sent on an open connection and refuses none.
func TestShutdownUnderLoad(t *testing.T) {
	rounds := 20
	each(t, func(t *testing.T, m Memory) {
		for range rounds {
			var entered, left atomic.Int64
			s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
				entered.Add(1)
				runtime.Gosched()
				c.WriteString("done")
				left.Add(1)
			})}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			end := make(chan error, 1)
			go func() { end <- s.Serve(l) }()
			var answered atomic.Int64
			var clients, ready sync.WaitGroup
			for range 16 {
				ready.Add(1)
				clients.Go(func() { answered.Add(untilClosed(t, l.Addr().String(), ready.Done)) })
			}
			ready.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			cancel()
			if err := <-end; !errors.Is(err, ErrServerClosed) {
				t.Error(err)
			}
			clients.Wait()
			if entered.Load() != left.Load() || entered.Load() != answered.Load() {
				t.Errorf("%d requests reached the handler, %d were answered, %d answers arrived", entered.Load(), left.Load(), answered.Load())
			}
			if st := s.Stats(); st.Conns != 0 || st.Memory.Requests != 0 {
				t.Errorf("left over: %+v", st)
			}
		}
	})
}

// Shutdown lets a TLS handshake that has begun go on, and answers the first
// request, as long as the client takes no longer than graceful for each. A
// client that says nothing does not keep it.
func TestShutdownDuringHandshake(t *testing.T) {
	config, trusting := secure()
	eachEngine(t, func(t *testing.T) {
		for _, ofListener := range []bool{false, true} {
			for try, judged := 0, false; !judged; try++ {
				if try == 100 {
					t.Fatal("no client was as fast as it had to be")
				}
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				s := &Server{Handler: HandlerFunc(echo), TLS: config, ReadHeaderTimeout: time.Hour}
				addr := l.Addr().String()
				if ofListener {
					s.TLS, l = nil, tls.NewListener(l, config)
				}
				serveOn(t, s, l)
				judged = duringHandshake(t, s, addr, trusting)
			}
		}
	})
}

// duringHandshake shuts s down while a client and one that says nothing are
// connected. It reports whether the client was fast enough to be judged.
func duringHandshake(t *testing.T, s *Server, addr string, trusting *tls.Config) bool {
	client, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	mute, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	waitFor(t, "the connections", func() bool { return s.Stats().Accepted == 2 })
	begin, end := time.Now(), make(chan error)
	go func() { end <- s.Shutdown(context.Background()) }()
	waitFor(t, "the refusal of others", func() bool {
		other, err := net.Dial("tcp", addr)
		if err == nil {
			other.Close()
		}
		return err != nil
	})
	time.Sleep(20 * time.Millisecond) // Shutdown has woken the connections, almost always
	secured := tls.Client(client, trusting)
	_, err = io.WriteString(secured, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	fast := time.Since(begin) < graceful
	got, readErr := io.ReadAll(secured)
	if fast && (err != nil || readErr != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 ")) {
		t.Errorf("answered with %q, %v, %v", got, err, readErr)
	}
	if err := <-end; err != nil {
		t.Error(err)
	}
	return fast
}

// Shutdown waits for a handler and gives up when its context ends.
func TestShutdownWaits(t *testing.T) { eachEngine(t, testShutdownWaits) }

func testShutdownWaits(t *testing.T) {
	release, entered := make(chan bool), make(chan bool)
	s := &Server{Handler: HandlerFunc(func(c *Context) { entered <- true; <-release })}
	addr := serve(t, s)
	answer := make(chan string)
	go func() { answer <- talk(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", false) }()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v, want the context's error", err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("a connection was accepted after Shutdown")
	}
	close(release)
	if got := <-answer; !strings.Contains(got, "200 OK") || !strings.Contains(got, "Connection: close") {
		t.Errorf("answered with %q", got)
	}
}

// Close breaks off idle connections, and those whose handler waits for the
// client.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		reading, failed := make(chan bool), make(chan error, 1)
		s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			reading <- true
			_, err := c.Body()
			failed <- err
		})}
		addr := serve(t, s)
		var conns []net.Conn
		for _, request := range []string{"", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab"} {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			io.WriteString(nc, request)
			conns = append(conns, nc)
		}
		<-reading
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err == nil {
			t.Error("the body was read to its end")
		}
		for _, nc := range conns {
			nc.SetReadDeadline(time.Now().Add(20 * time.Second))
			if data, err := io.ReadAll(nc); errors.Is(err, os.ErrDeadlineExceeded) || len(data) > 0 {
				t.Errorf("a connection had %q, %v after Close", data, err)
			}
		}
	})
}

// asking connects to s. What it returns sends a request in parts, each likely read
// by itself, and wants an answer with this content.
func asking(t *testing.T, s *Server) (ask func(want string, parts ...string)) {
	t.Helper()
	nc, err := net.Dial("tcp", serve(t, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(nc)
	return func(want string, parts ...string) {
		t.Helper()
		for i, p := range parts {
			if i > 0 {
				time.Sleep(2 * time.Millisecond) // either way is right
			}
			if _, err := io.WriteString(nc, p); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%q: %v", parts, err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
			t.Fatalf("%q is answered with %q, %v; want %q", parts, got, err, want)
		}
	}
}

// A connection with many requests may keep its memory between them, but not
// once it idles; it is served as before then.
func TestBusyThenIdle(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) { c.WriteString("done") })}
		ask := asking(t, s)
		for range 2 {
			for range 20 * hotRequests {
				ask("done", "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			}
			waitFor(t, "the memory of an idle connection", func() bool {
				st := s.Stats()
				return st.Conns == 1 && st.Memory.InUse == 0 && st.Memory.Requests == 0
			})
		}
	})
}

// What a request says does not depend on those before it on a busy connection,
// with which its header section is compared.
func TestBusyHeads(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		s := &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			body, err := c.Body()
			if err != nil {
				return
			}
			c.WriteString(c.Method().String() + " " + c.Target().String() + " " + c.Header("Host").String() + " " +
				c.Header("X-Id").String() + " " + c.Header("Cookie").String() + " " + body.String() + "\n")
		})}
		ask := asking(t, s)
		rng := rand.New(rand.NewPCG(1, 2))
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		for range 100 * hotRequests {
			target := pick("/", "/longer", "/x?q=1")
			body := pick("", "abc", "abcdef", strings.Repeat("large", 2000))
			cookie, host, version := pick("", "", "k=v"), pick("h", "h", "h", "other"), pick("1.1", "1.1", "1.0")
			id := pick("1", "1", "1", "2", strings.Repeat("long", 500))
			request := "POST " + target + " HTTP/" + version + "\r\nHost: " + host + "\r\nConnection: keep-alive\r\nX-Id: " + id + "\r\n"
			if cookie != "" {
				request += "Cookie: " + cookie + "\r\n"
			}
			if body != "" {
				request += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
			}
			request += "\r\n" + body
			parts := []string{request}
			if part := rng.IntN(len(request)); rng.IntN(4) == 0 {
				parts = []string{request[:part], request[part:]}
			}
			ask("POST "+target+" "+host+" "+id+" "+cookie+" "+body+"\n", parts...)
		}
	})
}

// A request after a retained one, whose body was read in pieces, has its own memory:
// releasing the retained one does not change it.
func TestRetainedThenNext(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		kept := make(chan *Retained, 1)
		s := &Server{Memory: m}
		s.Handler = HandlerFunc(func(c *Context) {
			body, err := c.Body()
			if err != nil {
				return
			}
			if c.Path().Equal("/keep") {
				kept <- c.Retain()
			} else {
				(<-kept).Release()
				var others []*region // somebody else gets what was released
				for range 16 {
					r := s.memory.acquire()
					for i := range 4 {
						b := r.alloc(defaultBlockBytes >> i)
						copy(b, bytes.Repeat([]byte{'!'}, len(b)))
					}
					others = append(others, r)
				}
				for _, r := range others {
					r.drop()
				}
			}
			c.WriteString(c.Path().String() + body.String())
		})
		ask := asking(t, s)
		for range 3 * hotRequests {
			ask("/keepabc", "POST /keep HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n")
			ask("/next", "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
		}
	})
}
