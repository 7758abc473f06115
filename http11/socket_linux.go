package http11

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What the leader of a loop tells a socket that is away.
const (
	pendingIn    = 1 << iota // there is something to read
	pendingOut               // there is room to write
	pendingEnd               // the client sends no more; stays
	pendingGone              // nothing can be sent any more; stays
	pendingNoIn              // nobody is to wait for bytes
	pendingNoOut             // nobody is to wait for room
)

// Who serves a socket: the state of socket.state.
const (
	resting int32 = iota // nobody; it belongs to the leader of its loop
	leading              // the leader, who may leave the loop with it
	away                 // a goroutine that has left the loop
)

// A socket is a connection of the engine Readiness. It belongs to the leader of
// its loop, or, while it is away, to the goroutine that left with it.
type socket struct {
	// Constant.
	loop   *loop
	fd     int
	remote net.Addr

	// Owned by the leader. next, prev and slot are of the wheel.
	next, prev *socket
	slot       int8
	queued     bool // in loop.todo
	late       bool // its deadline has passed

	// state goes from resting to leading and back by the leader, from leading to
	// away by whoever has it leave, and from away to resting by the leader, when
	// the socket was sent back. It publishes what follows to who takes over, and
	// with leading to away the loop.
	state atomic.Int32

	// Owned by whoever has the socket.
	gone     bool    // to be closed
	hijacked bool    // gone, and the worker stays with the goroutine
	ended    bool    // the client sends no more
	requests int32   // as conn.requests, between two of them
	w        *worker // nil while no request has begun to arrive; unchanged while away, when the leader uses its channels
	deadline time.Duration

	// pending publishes to the goroutine that has the socket what the leader
	// was told while it was away.
	pending atomic.Uint32
	// onEnd publishes what the leader calls once the client is gone; nil or of
	// the present request.
	onEnd atomic.Pointer[func()]
}

// A worker is what a request needs. The leader has one at hand; the others are
// with sockets whose request is incomplete or away.
type worker struct {
	c       *conn
	in, out waiter
}

// A waiter waits for one direction of a socket that is away. One goroutine at a
// time does.
type waiter struct {
	wake  chan struct{} // has a token when pending may have changed
	timer *time.Timer
	by    atomic.Int64 // publishes the deadline, by the server's clock; 0 for none
}

func (k *waiter) init() {
	k.wake, k.timer = make(chan struct{}, 1), time.NewTimer(time.Hour)
	k.timer.Stop()
}

// set sets the deadline. Who waits sees it when it is poked.
func (k *waiter) set(by deadline) { k.by.Store(int64(by.at)) }

func (k *waiter) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// turn reads once and answers what has arrived whole. It reports whether the
// connection goes on.
func (s *socket) turn(late bool) bool {
	c := s.w.c
	if late {
		if c.cx.r == nil || c.phase != phaseHead {
			return false // the idle time-out
		}
		return c.headLate()
	}
	space := c.cx.space()
	for {
		n, errno := readFD(uintptr(s.fd), space)
		switch {
		case errno == syscall.EINTR:
		case again(errno):
			c.drained, s.ended = true, false
			return true
		case errno != 0 || n == 0:
			return false
		default:
			c.drained = n < len(space)
			c.cx.got(n)
			c.later = false
			return c.batch()
		}
	}
}

// leave makes the goroutine that serves s one that may wait: another one leads
// the loop from now on. Anybody may call it.
func (s *socket) leave() {
	if s.state.CompareAndSwap(leading, away) {
		go s.loop.run()
	}
}

// wait waits for one of the bits of pending, or until it is not to wait. The
// socket is away then.
func (s *socket) wait(k *waiter, bits, never uint32) error {
	s.leave()
	for s.pending.Load()&(bits|never) == 0 {
		by := time.Duration(k.by.Load())
		if by == 0 {
			<-k.wake
			continue
		}
		left := by - s.loop.srv.clock.now(0)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		k.timer.Reset(left)
		select {
		case <-k.wake:
		case <-k.timer.C:
		}
		k.timer.Stop()
	}
	if s.pending.And(^(bits&(pendingIn|pendingOut)))&never != 0 {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (s *socket) waitIn() error { return s.wait(&s.w.in, pendingIn|pendingEnd, pendingNoIn) }

func (s *socket) waitOut() error { return s.wait(&s.w.out, pendingOut|pendingGone, pendingNoOut) }

// tell is called by the leader for a socket that is away.
func (s *socket) tell(events uint32) {
	var bits uint32
	if events&unix.EPOLLIN != 0 {
		bits |= pendingIn
	}
	if events&unix.EPOLLOUT != 0 {
		bits |= pendingOut
	}
	if events&ends != 0 {
		bits |= pendingIn | pendingEnd
	}
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		bits |= pendingOut | pendingGone
	}
	s.pending.Or(bits)
	s.w.in.poke()
	s.w.out.poke()
	if bits&pendingEnd != 0 {
		if f := s.onEnd.Load(); f != nil {
			(*f)()
		}
	}
}

// interrupt has those who wait, or are about to, wait no longer.
func (s *socket) interrupt(reading, writing bool) {
	if reading {
		s.pending.Or(pendingNoIn)
		s.w.in.poke()
	}
	if writing {
		s.pending.Or(pendingNoOut)
		s.w.out.poke()
	}
}

// interrupted follows interrupt when nobody waits any more.
func (s *socket) interrupted() {
	s.pending.And(^uint32(pendingNoIn | pendingNoOut))
	s.SetDeadline(noDeadline)
}

// look has those who wait look at their deadlines.
func (s *socket) look() {
	s.w.in.poke()
	s.w.out.poke()
}

// watchEnd has f called, on the goroutine of the leader, when the client sends no
// more or is gone; at once if it is so. With nil it is called no more.
func (s *socket) watchEnd(f *func()) {
	s.onEnd.Store(f)
	if f == nil {
		return
	}
	s.leave() // so that the loop looks
	if s.ended || s.pending.Load()&pendingEnd != 0 {
		(*f)()
	}
}

// A rawSocket is a socket as conn reads and writes it.
type rawSocket socket

func (r *rawSocket) Control(f func(fd uintptr)) error {
	f(uintptr(r.fd))
	return nil
}

// Read calls f until it returns true, and waits for bytes in between. The rest
// of a head is for the leader to wait for.
func (r *rawSocket) Read(f func(fd uintptr) bool) error {
	s := (*socket)(r)
	for !f(uintptr(s.fd)) {
		if s.w.c.phase == phaseHead {
			return errLater
		}
		if err := s.waitIn(); err != nil {
			return err
		}
	}
	return nil
}

func (r *rawSocket) Write(f func(fd uintptr) bool) error {
	s := (*socket)(r)
	for !f(uintptr(s.fd)) {
		if err := s.waitOut(); err != nil {
			return err
		}
	}
	return nil
}

// The methods of net.Conn, for whoever has the socket.

// SyscallConn is for settings.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return (*rawSocket)(s), nil }

func (s *socket) Read([]byte) (int, error)  { return 0, errConnUse }
func (s *socket) Write([]byte) (int, error) { return 0, errConnUse }
func (s *socket) Close() error              { return errConnUse }

func (s *socket) CloseWrite() error {
	return os.NewSyscallError("shutdown", unix.Shutdown(s.fd, unix.SHUT_WR))
}

func (s *socket) SetDeadline(t time.Time) error {
	s.SetReadDeadline(t)
	return s.SetWriteDeadline(t)
}

func (s *socket) SetReadDeadline(t time.Time) error {
	s.w.in.set(s.loop.srv.clock.deadlineAt(t))
	return nil
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	s.w.out.set(s.loop.srv.clock.deadlineAt(t))
	return nil
}

func (s *socket) RemoteAddr() net.Addr { return s.remote }

func (s *socket) LocalAddr() net.Addr {
	sa, err := unix.Getsockname(s.fd)
	if err != nil {
		return nil
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrInet6:
		addr := &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
		if sa.ZoneId != 0 {
			if i, err := net.InterfaceByIndex(int(sa.ZoneId)); err == nil {
				addr.Zone = i.Name
			}
		}
		return addr
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return nil
}

// ReadFrom has the kernel copy from a file, which may take its time.
func (s *socket) ReadFrom(r io.Reader) (sent int64, err error) {
	part, ok := r.(*io.LimitedReader)
	if !ok {
		return 0, errConnUse
	}
	file, ok := part.R.(*os.File)
	if !ok {
		return 0, errConnUse
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	s.leave()
	for part.N > 0 {
		n := 0
		var failed error
		if err := raw.Control(func(fd uintptr) { n, failed = unix.Sendfile(s.fd, int(fd), nil, int(part.N)) }); err != nil {
			return sent, err
		}
		switch {
		case failed == unix.EAGAIN:
			if err := s.waitOut(); err != nil {
				return sent, err
			}
		case failed == unix.EINTR:
		case failed != nil:
			return sent, os.NewSyscallError("sendfile", failed)
		case n <= 0:
			return sent, nil
		default:
			sent += int64(n)
			part.N -= int64(n)
		}
	}
	return sent, nil
}

// hijack returns the connection as package net has it; the socket is no more.
// Its worker is left to the goroutine.
func (s *socket) hijack() (net.Conn, error) {
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close() // FileConn has a descriptor of its own
	nc, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	s.leave()
	// The set knows the connection as long as any descriptor of it is open.
	if err := s.loop.set.Remove(s.fd); err != nil {
		nc.Close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	s.gone, s.hijacked = true, true
	s.loop.send(s)
	return nc, nil
}
