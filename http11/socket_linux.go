package http11

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a loop's leader tells a socket that is away.
const (
	pendingIn    = 1 << iota // there is something to read
	pendingOut               // there is room to write
	pendingEnd               // the client stopped sending; stays set
	pendingGone              // sending is no longer possible; stays set
	pendingNoIn              // nobody may wait for bytes
	pendingNoOut             // nobody may wait for room
)

// Who serves a socket: the values of socket.state.
const (
	resting uint64 = iota // nobody; it belongs to the leader of its loop
	leading               // the leader, which may leave the loop with it
	away                  // a goroutine that has left the loop
)

// A socket is a connection of the engine Readiness. It belongs to the leader of
// its loop, or, while it is away, to the goroutine that left with it.
type socket struct {
	// Constant.
	loop   *loop
	fd     int
	remote net.Addr
	ctx    context.Context // from Server.ConnContext

	// Owned by the leader. next, prev and slot belong to the wheel.
	next, prev *socket
	slot       int8
	queued     bool // in loop.todo
	late       bool // its deadline has passed

	// pending publishes what the leader learned while the socket was away to the
	// goroutine that has it.
	pending atomic.Uint32

	// state changes from resting to leading and back by the leader, from leading
	// to away by whoever makes it leave, and from away to resting by the leader
	// once the socket is sent back. It publishes the fields below to the new owner
	// and, from leading to away, the loop.
	state atomic.Uint64

	// doomed is set by whoever closes the socket's handle; it publishes nothing.
	doomed atomic.Bool

	// Owned by whoever has the socket.
	gone     bool    // to be closed
	hijacked bool    // gone, and the worker stays with the goroutine
	ended    bool    // the client stopped sending
	requests int32   // as conn.requests, between requests
	w        *worker // nil until a request begins to arrive; constant while away, when the leader uses its channels
	deadline time.Duration

	closed bool // fd is; guarded by loop.mu

	// onEnd publishes what the leader calls once the client is gone; nil or the
	// current request's.
	onEnd atomic.Pointer[func()]
}

// A worker is what a request needs. The leader keeps a spare; the others are
// with sockets that are away or whose request is incomplete.
type worker struct {
	c       *conn
	in, out waiter
}

// A waiter waits for one direction of a socket that is away. One goroutine at a
// time uses it.
type waiter struct {
	wake  chan struct{} // has a token if pending may have changed
	timer *time.Timer
	by    atomic.Int64 // publishes the deadline on the server's clock; 0 for none
}

func (k *waiter) init() {
	k.wake, k.timer = make(chan struct{}, 1), time.NewTimer(time.Hour)
	k.timer.Stop()
}

// set sets the deadline. A waiting goroutine sees it when poked.
func (k *waiter) set(by deadline) { k.by.Store(int64(by.at)) }

func (k *waiter) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// turn reads once and answers all complete requests. It reports whether the
// connection continues. If its deadline has passed, what has arrived still
// counts: the loop may only have been late itself.
func (s *socket) turn(late bool) bool {
	c := s.w.c
	lateHead, armed := late && c.phase == phaseHead, c.armed
	space := c.cx.space()
	for {
		n, errno := readFD(uintptr(s.fd), space)
		switch {
		case errno == syscall.EINTR:
		case again(errno):
			c.drained, s.ended = true, false
			if lateHead {
				return c.headLate()
			}
			return !late // otherwise it has idled
		case errno != 0 || n == 0:
			return false
		default:
			c.drained = n < len(space)
			c.cx.got(n)
			c.later = false
			if !c.batch() || c.left && !c.sendNow(uintptr(s.fd)) && !c.sendLeft() {
				return false
			}
			if lateHead && c.later && c.armed == armed { // still the same head
				return c.headLate()
			}
			return true
		}
	}
}

// leave makes the goroutine that serves s one that may wait: another one leads
// the loop from now on. Any goroutine may call it.
func (s *socket) leave() {
	if s.state.CompareAndSwap(leading, away) {
		go s.loop.run()
	}
}

// wait waits for one of bits in pending, or until waiting is forbidden. The
// socket is away.
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

// The leader calls tell for a socket that is away.
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

// interrupt wakes goroutines that wait or are about to.
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

// interrupted undoes interrupt once nobody waits.
func (s *socket) interrupted() {
	s.pending.And(^uint32(pendingNoIn | pendingNoOut))
	s.SetDeadline(noDeadline)
}

// look makes waiting goroutines check their deadlines.
func (s *socket) look() {
	s.w.in.poke()
	s.w.out.poke()
}

// watchEnd registers f to be called on the leader's goroutine once the client
// stops sending or is gone; at once if it already has. Nil unregisters.
func (s *socket) watchEnd(f *func()) {
	s.onEnd.Store(f)
	if f == nil {
		return
	}
	s.leave() // so that the loop watches it
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

// Read calls f until it returns true, and waits for bytes in between. The
// leader waits for the rest of a head.
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

// SyscallConn is used by settings.
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

func (s *socket) handle() net.Conn { return handle{s} }

func (s *socket) context() context.Context { return s.ctx }

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

// ReadFrom lets the kernel copy from a file, which may take a while.
func (s *socket) ReadFrom(r io.Reader) (sent int64, err error) {
	part, ok := r.(*io.LimitedReader)
	if !ok {
		return 0, errConnUse
	}
	file, ok := part.R.(syscall.Conn)
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

// hijack returns the connection as one of package net, tells Server.ConnState, and
// ends the socket. The goroutine keeps its worker.
func (s *socket) hijack() (net.Conn, error) {
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close() // FileConn duplicates the descriptor
	nc, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	s.leave()
	// The set keeps the connection as long as any of its descriptors is open.
	if err := s.loop.set.Remove(s.fd); err != nil {
		nc.Close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	s.gone, s.hijacked = true, true
	s.loop.srv.becomes(s.handle(), http.StateHijacked) // before the leader closes the descriptor, which has the addresses
	s.loop.send(s)
	return nc, nil
}

// A handle is a socket for Server.ConnState. Any goroutine may close it.
type handle struct{ s *socket }

func (h handle) Read([]byte) (int, error)         { return 0, errConnUse }
func (h handle) Write([]byte) (int, error)        { return 0, errConnUse }
func (h handle) SetDeadline(time.Time) error      { return errConnUse }
func (h handle) SetReadDeadline(time.Time) error  { return errConnUse }
func (h handle) SetWriteDeadline(time.Time) error { return errConnUse }
func (h handle) LocalAddr() net.Addr              { return h.s.LocalAddr() }
func (h handle) RemoteAddr() net.Addr             { return h.s.remote }

// Close ends sending and receiving, and leaves the rest to the leader of the loop.
func (h handle) Close() error {
	l := h.s.loop
	h.s.doomed.Store(true) // for receive, if the loop does not have the socket yet
	l.mu.Lock()
	if !h.s.closed {
		unix.Shutdown(h.s.fd, unix.SHUT_RDWR) // an error means that it has ended
	}
	l.doomed = append(l.doomed, h.s)
	l.mu.Unlock()
	l.poke()
	return nil
}
