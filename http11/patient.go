package http11

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A patient is the connection below TLS. A write continues past its deadline as
// long as the client takes bytes or has taken all, as in conn.progressed: TLS
// itself cannot resume after a time-out. One write of TLS is many writes of a patient, and
// its deadline may pass between two of them.
type patient struct {
	net.Conn
	raw     syscall.RawConn
	timeout time.Duration
	fixed   atomic.Bool  // the deadline is the handler's, or has passed on purpose
	written atomic.Int64 // bytes
	taken   atomic.Int64 // of them by the client when the deadline was set
	failed  error        // of the last write
}

func newPatient(nc net.Conn, timeout time.Duration) *patient {
	p := &patient{Conn: nc, timeout: timeout}
	if source, ok := nc.(syscall.Conn); ok {
		p.raw, _ = source.SyscallConn()
	}
	return p
}

func (p *patient) SetWriteDeadline(t time.Time) error {
	if t.Equal(longAgo) {
		p.fixed.Store(true)
	}
	if !t.IsZero() {
		p.taken.Store(p.written.Load() - int64(p.unsent()))
	}
	return p.Conn.SetWriteDeadline(t)
}

// Write writes nothing after a failure. TLS would close with an alert, which in
// the middle of a record looks like a forged one.
func (p *patient) Write(b []byte) (n int, err error) {
	if p.failed == nil {
		n, p.failed = p.write(b)
	}
	return n, p.failed
}

func (p *patient) write(b []byte) (int, error) {
	for done := 0; ; {
		n, err := p.Conn.Write(b[done:])
		done += n
		written := p.written.Add(int64(n))
		if !errors.Is(err, os.ErrDeadlineExceeded) || p.fixed.Load() || p.timeout <= 0 {
			return done, err
		}
		left := p.unsent()
		if left > 0 && written-int64(left) <= p.taken.Load() {
			return done, err
		}
		p.SetWriteDeadline(time.Now().Add(p.timeout)) // the write shows an error
	}
}

// unsent returns how many bytes the client has not taken yet, or unknown.
func (p *patient) unsent() int { return unsentOf(p.raw) }

// CloseWrite is used by the code that closes TLS.
func (p *patient) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn is used by settings.
func (p *patient) SyscallConn() (syscall.RawConn, error) {
	if p.raw == nil {
		return nil, errors.ErrUnsupported
	}
	return p.raw, nil
}
