package http11

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	slowTimeout = 400 * time.Millisecond // write time-out of the servers
	slowBytes   = 12 << 20               // more than the kernel's buffers
)

// slowServers starts a server for each engine, plain and over TLS. Its handler
// sends slowBytes: /write at once, /parts in parts, /file from a file.
func slowServers(t *testing.T, failed func(error)) (servers []*slowServer) {
	file := filepath.Join(t.TempDir(), "file")
	content := make([]byte, slowBytes)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	config, trusting := secure()
	for _, e := range engines {
		for _, encrypted := range []bool{false, true} {
			one := &slowServer{name: e.String()}
			one.s = &Server{WriteTimeout: slowTimeout, Handler: HandlerFunc(func(c *Context) {
				c.SetContentLength(slowBytes)
				var err error
				switch c.Path().String() {
				case "/write":
					_, err = c.Write(content)
				case "/parts":
					for part := 0; part < slowBytes && err == nil; part += 1 << 20 {
						_, err = c.Write(content[:1<<20])
					}
				case "/file":
					err = c.SendFile(file)
				case "/deadline": // one request's deadline does not apply to the next
					c.SetWriteDeadline(time.Now().Add(time.Hour))
					c.SetContentLength(0)
				}
				if err != nil {
					failed(err)
				}
			})}
			if encrypted {
				one.name += " over TLS"
				one.s.TLS, one.trusting = config, trusting
			}
			engine = e
			one.addr = serve(t, one.s)
			servers = append(servers, one)
		}
	}
	engine = Goroutines
	return servers
}

type slowServer struct {
	name     string
	s        *Server
	addr     string
	trusting *tls.Config // nil without TLS
}

// dial connects with a small receive buffer, so that the server's buffer fills.
func (s *slowServer) dial(t *testing.T) net.Conn {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		controlErr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 32<<10)
		})
		if controlErr != nil {
			return controlErr
		}
		return err
	}}
	nc, err := d.Dial("tcp", s.addr)
	if err != nil {
		t.Error(err)
		return nil
	}
	if s.trusting != nil {
		nc = tls.Client(nc, s.trusting)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(30 * time.Second))
	return nc
}

// The server does not give up on a client that reads slowly but steadily,
// however many time-outs that takes: they measure progress.
func TestSlowReader(t *testing.T) {
	servers := slowServers(t, func(error) {}) // the client sees it
	var clients sync.WaitGroup
	for _, s := range servers {
		for _, path := range []string{"/write", "/parts", "/file"} {
			clients.Go(func() {
				for range 3 {
					if s.readSlowly(t, path) {
						return
					}
				}
				t.Logf("%s, %s: this machine held the client up each time", s.name, path)
			})
		}
	}
	clients.Wait()
}

// readSlowly reads 400 kB/s for five time-outs, then the rest. It reports false
// if the client itself was slower for a while.
func (s *slowServer) readSlowly(t *testing.T, path string) bool {
	nc := s.dial(t)
	if nc == nil {
		return true
	}
	r := bufio.NewReaderSize(nc, 512)
	for _, target := range []string{"/deadline", path} {
		io.WriteString(nc, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Errorf("%s, %s: %v", s.name, path, err)
			return true
		}
		if target != path {
			continue
		}
		got, steady := int64(0), true
		began := time.Now()
		for last := began; time.Since(began) < 5*slowTimeout; last = time.Now() {
			for range 8 { // 32 KB, after which the client's kernel announces room
				n, err := io.CopyN(io.Discard, resp.Body, 4<<10)
				if got += n; err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			steady = steady && time.Since(last) < slowTimeout/2
		}
		for last := time.Now(); err == nil; last = time.Now() {
			var n int64
			n, err = io.CopyN(io.Discard, resp.Body, 32<<10)
			got, steady = got+n, steady && time.Since(last) < slowTimeout/2
		}
		if err == io.EOF {
			err = nil
		}
		if !steady {
			return err == nil
		}
		if got != slowBytes || err != nil {
			t.Errorf("%s, %s: %d bytes, %v", s.name, path, got, err)
		}
	}
	return true
}

// The server gives up on a client that reads nothing.
func TestReaderOfNothing(t *testing.T) {
	var mu sync.Mutex
	var errs []error
	servers := slowServers(t, func(err error) {
		mu.Lock()
		errs = append(errs, err)
		mu.Unlock()
	})
	for _, s := range servers {
		for _, path := range []string{"/write", "/parts", "/file"} {
			nc := s.dial(t)
			if nc == nil {
				return
			}
			if _, err := io.WriteString(nc, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Error(err)
			}
		}
	}
	waitFor(t, "the handlers to fail", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) == 3*len(servers)
	})
	for _, err := range errs {
		if !timedOut(err) {
			t.Errorf("a write fails with %v, want a time-out", err)
		}
	}
	for _, s := range servers {
		waitFor(t, "the connections' end", func() bool { return s.s.Stats().Conns == 0 })
		if n := s.s.Stats().Timeouts; n != 3 {
			t.Errorf("%s: %d time-outs, want 3", s.name, n)
		}
	}
}

// After a write has failed, nothing more is sent: TLS's alert in the middle of a
// record would look like a forged record.
func TestNoAlertAfterAFailedWrite(t *testing.T) {
	cut := &cutConn{}
	p := newPatient(cut, 0)
	for range 2 {
		if _, err := p.Write(make([]byte, 10)); err != io.ErrShortWrite {
			t.Error(err)
		}
	}
	if cut.writes != 1 {
		t.Errorf("%d writes, want 1", cut.writes)
	}
}

// A cutConn takes half of what is written.
type cutConn struct {
	net.Conn
	writes int
}

func (c *cutConn) Write(b []byte) (int, error) {
	c.writes++
	return len(b) / 2, io.ErrShortWrite
}

// A write below TLS that begins behind its deadline goes on if the client has
// taken bytes since the deadline was set, and only then.
func TestPatientBetweenWrites(t *testing.T) {
	nc, _ := connected(t)
	p := newPatient(nc, time.Minute)
	p.SetWriteDeadline(time.Now().Add(time.Hour)) // an error shows in the write
	if _, err := p.write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the client to take a byte", func() bool { return p.unsent() == 0 })
	passed := time.Now().Add(-time.Second)
	nc.SetWriteDeadline(passed)
	if _, err := p.write([]byte("b")); err != nil {
		t.Errorf("a write whose client took a byte meanwhile: %v", err)
	}
	waitFor(t, "the client to take the other", func() bool { return p.unsent() == 0 })
	p.SetWriteDeadline(passed)
	if _, err := p.write([]byte("c")); err != nil {
		t.Errorf("a write whose client had taken everything: %v", err)
	}
	// Fill both buffers: the client reads nothing.
	for full := false; !full; {
		nc.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		n, err := nc.Write(make([]byte, 1<<20))
		p.written.Add(int64(n))
		full = n == 0 && timedOut(err)
	}
	p.SetWriteDeadline(passed)
	if _, err := p.write([]byte("d")); !timedOut(err) {
		t.Errorf("a write whose client took nothing ends with %v, want a time-out", err)
	}
}
