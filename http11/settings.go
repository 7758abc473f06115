package http11

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"
)

var errConnUse = errors.New("http11: Conn: it is not for reading, writing and closing; use Hijack")

// A settings is what Context.Conn returns: a connection without data transfer.
type settings struct{ c Context }

func (s *settings) Read([]byte) (int, error)         { return 0, errConnUse }
func (s *settings) Write([]byte) (int, error)        { return 0, errConnUse }
func (s *settings) Close() error                     { return errConnUse }
func (s *settings) SetDeadline(time.Time) error      { return errConnUse }
func (s *settings) SetReadDeadline(time.Time) error  { return errConnUse }
func (s *settings) SetWriteDeadline(time.Time) error { return errConnUse }

func (s *settings) LocalAddr() net.Addr {
	x := s.c.must(s.c.enter(), "Conn.LocalAddr")
	defer x.exit()
	return x.conn.nc.LocalAddr()
}

func (s *settings) RemoteAddr() net.Addr {
	x := s.c.must(s.c.enter(), "Conn.RemoteAddr")
	defer x.exit()
	return x.conn.nc.RemoteAddr()
}

// A connectionStater is a connection with TLS: a tls.Conn, or what a listener
// has wrapped around one.
type connectionStater interface{ ConnectionState() tls.ConnectionState }

// ConnectionState returns the TLS state, zero without TLS.
func (s *settings) ConnectionState() tls.ConnectionState {
	x := s.c.must(s.c.enter(), "Conn.ConnectionState")
	defer x.exit()
	if t, ok := x.conn.nc.(connectionStater); ok {
		return t.ConnectionState()
	}
	return tls.ConnectionState{}
}

// SyscallConn gives access to socket options.
func (s *settings) SyscallConn() (syscall.RawConn, error) { return (*rawSettings)(s), nil }

type rawSettings settings

// Control calls f with the connection's descriptor.
func (s *rawSettings) Control(f func(fd uintptr)) error {
	x := s.c.enter()
	if x == nil {
		return s.c.r.late("Conn.Control")
	}
	defer x.exit()
	nc := x.conn.nc
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	source, ok := nc.(syscall.Conn)
	if !ok || x.conn.hijacked {
		return errConnUse
	}
	raw, err := source.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
}

func (s *rawSettings) Read(func(uintptr) bool) error  { return errConnUse }
func (s *rawSettings) Write(func(uintptr) bool) error { return errConnUse }
