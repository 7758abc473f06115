package http11

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modes returns every memory mode, on the heap and off it.
func modes() []Memory {
	var all []Memory
	for _, mode := range MemoryModes() {
		all = append(all, Memory{Mode: mode})
		if mode.Info().OffHeap {
			all = append(all, Memory{Mode: mode, OffHeap: true})
		}
	}
	return all
}

// engine is the engine of the servers that serveOn starts. Tests are not
// parallel.
var engine Engine

// each runs f on every engine in every memory mode.
func each(t *testing.T, f func(t *testing.T, m Memory)) {
	eachEngine(t, func(t *testing.T) {
		for _, m := range modes() {
			name := m.Mode.String()
			if m.OffHeap {
				name += "-offheap"
			}
			t.Run(name, func(t *testing.T) { f(t, m) })
		}
	})
}

// eachEngine runs f on every engine.
func eachEngine(t *testing.T, f func(t *testing.T)) {
	for _, e := range engines {
		engine = e
		t.Run(e.String(), f)
	}
	engine = Goroutines
}

// serve starts s on a loopback address and shuts it down when the test ends;
// nothing of it may remain by then.
func serve(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, s, l)
	return l.Addr().String()
}

func serveOn(t testing.TB, s *Server, l net.Listener) {
	t.Helper()
	if s.Engine != engine { // the second listener of a server: it is serving
		s.Engine = engine
	}
	end := make(chan error, 1)
	go func() { end <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-end; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
		// Nobody waits for handlers that have hijacked: they release memory later.
		st := s.Stats()
		for range 500 {
			if st.Memory.InUse == 0 && st.Memory.Requests == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
			st = s.Stats()
		}
		if st.Conns != 0 || st.Memory.InUse != 0 || st.Memory.Requests != 0 {
			t.Errorf("left in use: %+v", st)
		}
	})
}

// A prompt listener accepts a connection once something has arrived on it: the
// machine may hold up a client between its connect and its first write, for
// longer than a server waits.
type prompt struct{ net.Listener }

func (l prompt) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	raw, err := nc.(syscall.Conn).SyscallConn()
	for arrived := !rawIO; err == nil && !arrived; time.Sleep(100 * time.Microsecond) {
		err = raw.Control(func(fd uintptr) { arrived = unread(fd) })
	}
	return nc, err
}

// servePrompt is serve with a prompt listener.
func servePrompt(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, s, prompt{l})
	return l.Addr().String()
}

// talk sends request on a new connection, closes the sending side with eof, and
// returns everything received until the server closes.
func talk(t testing.TB, addr, request string, eof bool) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	if eof {
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%q: %v", request, err)
	}
	return string(answer)
}

// An answered is a response as net/http's client side reads it.
type answered struct {
	status  int
	body    string
	header  http.Header
	trailer http.Header
}

func (a answered) String() string {
	return fmt.Sprintf("%d %v %v %.200q (%d bytes)", a.status, a.header, a.trailer, a.body, len(a.body))
}

// responses parses all responses in data; methods are those of the requests.
func responses(t testing.TB, data string, methods ...string) (all []answered) {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(data))
	for i := 0; ; i++ {
		if _, err := r.Peek(1); err == io.EOF {
			return all
		}
		method := "GET"
		if i < len(methods) {
			method = methods[i]
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("response %d of %q: %v", i, data, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("response %d of %q: %v", i, data, err)
		}
		if resp.StatusCode == 100 {
			continue
		}
		if resp.Close {
			resp.Header.Set("Connection", "close")
		}
		all = append(all, answered{resp.StatusCode, string(body), resp.Header, resp.Trailer})
	}
}

// echo answers with the request.
func echo(c *Context) {
	body, err := c.Body()
	if err != nil {
		return
	}
	c.SetHeader("Content-Type", "text/plain")
	fmt.Fprintf(c, "%s %s?%s host=%s", c.Method(), c.Path(), c.Query(), c.Host())
	for name, value := range c.Headers() {
		fmt.Fprintf(c, "\n%s: %s", name, value)
	}
	fmt.Fprintf(c, "\n\n%s", body)
	for name, value := range c.Trailers() {
		fmt.Fprintf(c, "\n%s: %s", name, value)
	}
}

func TestKeepAlive(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		addr := serve(t, &Server{Handler: HandlerFunc(echo), Memory: m})
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for i := range 100 {
			body := strings.Repeat("x", i*i)
			fmt.Fprintf(c, "POST /a/%d?q=%d HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", i, i, len(body), body)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("POST /a/%d?q=%d host=h\nHost: h\nContent-Length: %d\n\n%s", i, i, len(body), body)
			if resp.StatusCode != 200 || string(got) != want {
				t.Fatalf("request %d: status %d\n%q, want\n%q", i, resp.StatusCode, got, want)
			}
		}
	})
}

func TestPipelining(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		addr := serve(t, &Server{Handler: HandlerFunc(echo), Memory: m})
		var in bytes.Buffer
		const n = 1000
		for i := range n {
			if i%3 == 0 {
				fmt.Fprintf(&in, "POST /%d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+
					"4\r\nbody\r\n%x\r\n%s\r\n0\r\nX-T: %d\r\n\r\n", i, i+1, strings.Repeat("y", i+1), i)
			} else {
				fmt.Fprintf(&in, "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i)
			}
		}
		all := responses(t, talk(t, addr, in.String(), true))
		if len(all) != n {
			t.Fatalf("%d responses, want %d", len(all), n)
		}
		for i, a := range all {
			want := fmt.Sprintf("GET /%d? host=h\nHost: h\n\n", i)
			if i%3 == 0 {
				want = fmt.Sprintf("POST /%d? host=h\nHost: h\nTransfer-Encoding: chunked\n\nbody%s\nX-T: %d",
					i, strings.Repeat("y", i+1), i)
			}
			if a.status != 200 || a.body != want {
				t.Fatalf("response %d: status %d\n%q, want\n%q", i, a.status, a.body, want)
			}
		}
	})
}

// countingListener counts how often it is closed, and cannot be compared.
type countingListener struct {
	net.Listener
	closed *int
	_      []int
}

func (l countingListener) Close() error {
	*l.closed++
	return l.Listener.Close()
}

func TestListenersAreClosedOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	t.Run("serve", func(t *testing.T) {
		serveOn(t, &Server{Handler: HandlerFunc(func(*Context) {})}, countingListener{Listener: l, closed: &closed})
		_, r := dial(t, l.Addr().String(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		answer(t, r)
	})
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}
