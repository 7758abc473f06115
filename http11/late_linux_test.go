package http11

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connected returns the two ends of a connection.
func connected(t *testing.T) (nc, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	nc, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc, client
}

// idleConn returns a connection of a server that does not serve, after its TLS
// handshake if it has one, and the client's end.
func idleConn(t *testing.T, s *Server) (*conn, net.Conn) {
	t.Helper()
	s.Handler = HandlerFunc(echo)
	if err := s.configure(); err != nil {
		t.Fatal(err)
	}
	s.clock = newClock(s)
	t.Cleanup(func() { close(s.clock.stop) })
	nc, client := connected(t)
	if s.TLS == nil {
		return newConn(s, nc), client
	}
	_, trusting := secure()
	below, ours := newPatient(nc, time.Minute), tls.Client(client, trusting)
	c := newConn(s, tls.Server(below, s.TLS))
	c.patient = below
	shaken := make(chan error, 1)
	go func() { shaken <- ours.Handshake() }()
	if ok, err := c.handshake(), <-shaken; !ok || err != nil {
		t.Fatal("handshake:", ok, err)
	}
	return c, ours
}

// A part of a request that has arrived counts although its deadline has passed:
// the server may only have been late to read it. It counts once.
func TestLateRead(t *testing.T) {
	config, _ := secure()
	for name, config := range map[string]*tls.Config{"plain": nil, "over TLS": config} {
		for _, p := range []phase{phaseIdle, phaseHead} {
			c, client := idleConn(t, &Server{TLS: config})
			if _, err := io.WriteString(client, "G"); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the bytes", func() bool { return there(c) })
			c.phase, c.waiting, c.armed = p, true, 1
			c.nc.SetReadDeadline(longAgo) // the read shows an error
			if err := c.read(); err != nil || string(c.cx.buf) != "G" {
				t.Errorf("%s, phase %d: read %q, %v behind the deadline", name, p, c.cx.buf, err)
			}
			if err := c.read(); !timedOut(err) {
				t.Errorf("%s, phase %d: read %v with nothing left, want a time-out", name, p, err)
			}
		}
	}
}

func there(c *conn) bool {
	raw := c.raw
	if c.patient != nil {
		raw = c.patient.raw
	}
	ok := false
	raw.Control(func(fd uintptr) { ok = unread(fd) })
	return ok
}

// A request that has arrived when the server closes is read, whenever Shutdown
// wakes its connection.
func TestLastChance(t *testing.T) {
	config, _ := secure()
	for name, config := range map[string]*tls.Config{"plain": nil, "over TLS": config} {
		for range 20 {
			s := &Server{TLS: config}
			c, client := idleConn(t, s)
			if _, err := io.WriteString(client, "G"); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the bytes", func() bool { return there(c) })
			c.requests, c.kept = 1, true
			s.closing.Store(true)
			stop, stopped := make(chan bool), make(chan bool)
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						c.nudge()
					}
				}
			}()
			if !c.lastChance() || string(c.cx.buf) != "G" {
				t.Errorf("%s: a request that has arrived is not read: %q", name, c.cx.buf)
			}
			close(stop)
			<-stopped
		}
	}
}

// A connection without a time-out sees that the server closes, even if it drops
// an earlier deadline just then.
func TestNudgeWithoutIdleTimeout(t *testing.T) {
	s := &Server{IdleTimeout: -1}
	c, client := idleConn(t, s)
	time.AfterFunc(20*time.Second, func() { client.Close() }) // instead of waiting forever
	c.armed = s.clock.now(0) + time.Hour
	s.closing.Store(true)
	c.nudge()
	c.arm(0)
	if err := c.read(); !timedOut(err) {
		t.Errorf("read: %v, want a time-out", err)
	}
}

// A late loop serves what has arrived behind a deadline. Only a head that is
// still incomplete is too late.
func TestLateTurn(t *testing.T) {
	const half, rest = "GET / HTTP/1.1\r\nHo", "st: h\r\n\r\n"
	for _, tc := range []struct {
		name, before, then string
		goesOn             bool
		want               string
	}{
		{"idle", "", half + rest, true, "HTTP/1.1 200"},
		{"idle, half a head", "", half, true, ""},
		{"idle, nothing", "", "", false, ""},
		{"head", half, rest, true, "HTTP/1.1 200"},
		{"head, and the next begins", half, rest + half, true, "HTTP/1.1 200"},
		{"head, incomplete", half, rest[:3], false, "HTTP/1.1 408"},
		{"head, nothing", half, "", false, "HTTP/1.1 408"},
	} {
		s := &Server{Handler: HandlerFunc(echo), Engine: Readiness}
		if err := s.configure(); err != nil {
			t.Fatal(err)
		}
		s.clock = newClock(s)
		s.lingering.Store(maxLingering) // it does not stay for the client
		l, err := newLoop(s)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		one := &socket{loop: l, fd: pair[0]}
		send := func(text string, late bool) bool {
			if text != "" {
				if _, err := unix.Write(pair[1], []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			one.late = late
			_, late = l.equip(one)
			return one.turn(late)
		}
		if tc.before != "" {
			if !send(tc.before, false) || !one.w.c.later {
				t.Errorf("%s: half a head does not wait for the rest", tc.name)
			}
			one.w.c.armed = 1 // it has passed
		}
		if got := send(tc.then, true); got != tc.goesOn {
			t.Errorf("%s: the connection goes on: %v, want %v", tc.name, got, tc.goesOn)
		}
		answer := make([]byte, 1<<10)
		n, _ := unix.Read(pair[1], answer) // -1 if there is none
		if got := string(answer[:max(n, 0)]); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: answered with %q, want %q", tc.name, got, tc.want)
		}
		unix.Close(pair[0])
		unix.Close(pair[1])
		l.shut()
		close(s.clock.stop)
	}
}

// A write behind its deadline goes on if nothing waits for the client.
func TestProgressed(t *testing.T) {
	c, _ := idleConn(t, &Server{})
	waitFor(t, "nothing to be left", func() bool { return c.unsent() == 0 })
	c.queued = 0
	if !c.progressed() {
		t.Error("a client that has taken everything is too slow")
	}
}

// A handler sees that its client is gone after Shutdown has woken the
// connections.
func TestContextOfAClosingServer(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		watching, ended := make(chan bool), make(chan bool)
		s := &Server{Handler: HandlerFunc(func(c *Context) {
			done := c.Context().Done()
			watching <- true
			<-done
			ended <- true
		})}
		nc, err := net.Dial("tcp", serve(t, s))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\n") // an error shows in the wait
		<-watching
		s.mu.Lock()
		for c := range s.conns {
			c.nudge()
		}
		s.mu.Unlock()
		nc.Close()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the handler does not see that its client is gone")
		}
	})
}
