package http11

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/poll"
	"github.com/isobar-go/isobar/internal/base/release"
)

const (
	loopEvents = 128
	interest   = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	ends       = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// A loop waits for its sockets and serves them. One goroutine at a time leads
// it: it waits, reads, and calls handlers. If serving a socket has to wait, the
// leader leaves: it starts the next leader and continues as the goroutine of
// that one connection until the response is sent, then sends the socket back.
//
// Readiness is edge-triggered (EPOLLET): a socket that stays with its loop
// costs only a read and a write per request and a share of epoll_wait.
type loop struct {
	// Constant.
	srv   *Server
	set   *poll.Set // closed by the last leader
	watch *watch

	mu     sync.Mutex
	inbox  []*socket // new or returning sockets; guarded by mu
	doomed []*socket // to be closed; guarded by mu

	// mail publishes that inbox or doomed is not empty or that the server is closing. The
	// sender sets it, then reads parked; the leader sets parked, then reads mail.
	mail   atomic.Bool
	parked atomic.Bool // publishes that the leader is about to wait
	// turns counts the leader's turns; serving is the socket of the current one.
	// The leader writes them, the watch reads them.
	turns   atomic.Uint64
	serving atomic.Pointer[socket]
	label   atomic.Uint32 // of the leader's goroutine: an index into labels
	ending  atomic.Bool   // publishes that no more sockets will come

	// The leader owns the rest; go passes it to the next.
	tryFetch   func(fd uintptr) bool
	spare      []*worker
	table      []*socket // by descriptor
	events     [loopEvents]unix.EpollEvent
	at, filled int       // events[at:filled] are pending
	todo       []*socket // to be served without an event
	wheel      wheel
	now        time.Duration // on the server's clock, when events were fetched
	armed      time.Duration // deadline of set; 0 for none
	told       bool          // a goroutine was woken or started since the last fetch
	finalAt    time.Duration // when connections without a request close; 0 unless the server is closing
	final      bool          // finalAt has passed
}

// loops are the loops of a server.
type loops struct {
	all    []*loop
	next   atomic.Uint32 // counts connections; publishes nothing
	logged holders
}

// newLoops creates and starts a loop for each P.
func newLoops(s *Server) (*loops, error) {
	ls := &loops{}
	for range runtime.GOMAXPROCS(0) {
		l, err := newLoop(s)
		if err != nil {
			for _, l := range ls.all {
				l.shut()
			}
			return nil, err
		}
		ls.all = append(ls.all, l)
	}
	s.looping = len(ls.all)
	for _, l := range ls.all {
		go l.run()
	}
	return ls, nil
}

func newLoop(s *Server) (*loop, error) {
	set, err := poll.Open()
	if err != nil {
		return nil, err
	}
	l := &loop{srv: s, set: set}
	if l.watch, err = newWatch(l); err != nil {
		set.Close()
		return nil, err
	}
	l.tryFetch = l.fetchOrPark
	shortest := time.Duration(0)
	for _, t := range []time.Duration{s.timeouts[phaseIdle], s.timeouts[phaseHead]} {
		if t > 0 && (shortest == 0 || t < shortest) {
			shortest = t
		}
	}
	if shortest > 0 {
		l.wheel.width = max(shortest/16, time.Millisecond)
	}
	return l, nil
}

// take gives nc to a loop and reports whether it could. It duplicates the
// descriptor, because the runtime watches the one of package net.
func (ls *loops) take(nc net.Conn, ctx context.Context) bool {
	raw := rawOf(nc)
	if raw == nil {
		return false
	}
	fd := -1
	closed := raw.Control(func(old uintptr) { fd, _ = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if closed != nil || fd < 0 {
		return false // for example out of descriptors
	}
	l := ls.all[int(ls.next.Add(1))%len(ls.all)]
	s := &socket{loop: l, fd: fd, remote: nc.RemoteAddr(), ctx: ctx}
	l.srv.becomes(s.handle(), http.StateNew)
	l.send(s)
	nc.Close() // the other descriptor keeps the connection open
	return true
}

// poke makes all loops check whether the server is closing.
func (ls *loops) poke() {
	for _, l := range ls.all {
		l.poke()
	}
}

// end ends the loops, which have no sockets left.
func (ls *loops) end() {
	for _, l := range ls.all {
		l.ending.Store(true)
		l.poke()
	}
}

// send passes a socket to the leader.
func (l *loop) send(s *socket) {
	l.mu.Lock()
	l.inbox = append(l.inbox, s)
	l.mu.Unlock()
	l.poke()
}

func (l *loop) poke() {
	l.mail.Store(true)
	if l.parked.Load() {
		l.set.SetDeadline(time.Unix(1, 0)) // an ended loop needs no wake-up
	}
}

// run leads the loop until the loop ends or the goroutine leaves it.
func (l *loop) run() {
	l.mark()
	var s *socket
	returned := false
	defer func() {
		if !returned { // runtime.Goexit in a handler
			l.abandon(s)
		}
	}()
	for {
		if s = l.next(); s == nil {
			l.close()
			break
		}
		w, late := l.equip(s)
		ok := s.turn(late)
		if !s.state.CompareAndSwap(leading, resting) {
			s.sendBack(w, ok)
			break
		}
		l.settle(s, ok)
	}
	returned = true
}

// abandon closes a connection whose goroutine ends.
func (l *loop) abandon(s *socket) {
	s.leave()
	if s.w != nil {
		s.sendBack(s.w, false)
	}
}

// sendBack returns a socket that was away.
func (s *socket) sendBack(w *worker, ok bool) {
	if w.c.hijacked {
		w.c.cx.drop() // the socket is already back
		return
	}
	s.gone = !ok
	s.loop.send(s)
}

// equip gives s a worker if it has none, and begins a turn of s. It reports
// whether the deadline of s has passed. From here until the turn ends the
// leader touches nothing of l: the watch may replace it.
func (l *loop) equip(s *socket) (w *worker, late bool) {
	if s.w == nil {
		if n := len(l.spare) - 1; n >= 0 {
			s.w, l.spare = l.spare[n], l.spare[:n]
		} else {
			s.w = newWorker(l.srv)
		}
		c := s.w.c
		c.sock, c.nc, c.raw = s, s, (*rawSocket)(s)
		c.requests = int(s.requests)
		c.phase, c.waiting, c.broken, c.later, c.active = phaseIdle, false, false, false, false
	}
	late, s.late = s.late, false
	w = s.w
	release.Uint64(&l.turns, l.turns.Load()+1)
	if l.serving.Load() != s {
		l.serving.Store(s)
	}
	release.Uint64(&s.state, leading) // whoever makes s leave has heard of it from this goroutine, or looks twice
	return w, late
}

func newWorker(srv *Server) *worker {
	w := &worker{c: newConn(srv, nil)}
	w.in.init()
	w.out.init()
	return w
}

// settle runs after a turn.
func (l *loop) settle(s *socket, ok bool) {
	c := s.w.c
	switch {
	case !ok || l.srv.broken.Load():
		l.remove(s)
		return
	case c.later:
		l.awaitHead(s)
		if s.ended || !c.drained { // the rest may have been reported while it was away
			l.again(s)
		}
		return
	}
	s.requests = int32(c.requests)
	more := !c.drained || s.ended
	l.strip(s)
	if more {
		l.again(s)
		return
	}
	if l.finalAt > 0 && (s.requests > 0 || l.final) {
		l.remove(s)
		return
	}
	if idle := l.srv.timeouts[phaseIdle]; idle > 0 {
		s.deadline = l.srv.clock.now(idle) + idle + idle/16 // now, not when the handler began
		if s.slot == 0 {
			l.wheel.link(s, l.now)
		}
	}
}

// awaitHead watches the deadline of a head. conn sets it, up to 12.5 % late.
func (l *loop) awaitHead(s *socket) {
	at := s.w.c.armed
	if at > 0 {
		at -= l.srv.timeouts[phaseHead] / 16
	}
	if s.deadline != at || s.slot == 0 {
		s.deadline = at
		l.wheel.link(s, l.now)
	}
}

// strip removes the worker from s.
func (l *loop) strip(s *socket) {
	w := s.w
	s.w = nil
	if w.c.armed != 0 || w.c.stalled != 0 {
		w.c.armed, w.c.stalled = 0, 0
		w.in.set(deadline{})
		w.out.set(deadline{})
	}
	l.spare = append(l.spare, w)
}

// again queues s to be served without an event.
func (l *loop) again(s *socket) {
	if !s.queued {
		s.queued = true
		l.todo = append(l.todo, s)
	}
}

// remove closes a connection.
func (l *loop) remove(s *socket) {
	l.table[s.fd] = nil
	l.wheel.unlink(s)
	s.gone = true
	if s.w != nil && !s.hijacked {
		if s.w.c.cx.r != nil {
			s.w.c.cx.drop()
		}
		l.strip(s)
	}
	for i := l.at; i < l.filled; i++ { // the next socket with this descriptor may come before they are seen
		if e := &l.events[i]; e.Fd == int32(s.fd) {
			e.Events = 0
		}
	}
	if !s.hijacked {
		l.srv.becomes(s.handle(), http.StateClosed)
	}
	l.mu.Lock()
	s.closed = true
	unix.Close(s.fd)
	l.mu.Unlock()
	l.srv.forget(nil)
}

// next returns the next socket to serve; nil when the loop has ended.
func (l *loop) next() *socket {
	for {
		if l.mail.Load() {
			l.read()
			if l.ending.Load() {
				return nil
			}
		}
		for l.at < l.filled {
			e := &l.events[l.at]
			l.at++
			s := l.table[e.Fd]
			switch {
			case s == nil:
			case s.state.Load() == away:
				s.tell(e.Events)
				l.told = true
			case e.Events&ends != 0:
				s.ended = true
				return s
			case e.Events&unix.EPOLLIN != 0:
				return s
			}
		}
		l.fetch()
		for len(l.todo) > 0 {
			s := l.todo[0]
			if l.todo = l.todo[1:]; len(l.todo) == 0 {
				l.todo = nil
			}
			s.queued = false
			if s.state.Load() == away {
				s.late = false
			} else if !s.gone {
				return s
			}
		}
	}
}

// read empties the inbox and checks whether the server is closing.
func (l *loop) read() {
	l.mail.Store(false)
	l.mu.Lock()
	mail, doomed := l.inbox, l.doomed
	l.inbox, l.doomed = nil, nil
	l.mu.Unlock()
	for _, s := range mail {
		l.receive(s)
	}
	for _, s := range doomed {
		if s.fd < len(l.table) && l.table[s.fd] == s {
			l.cut(s)
		}
	}
	if !l.srv.closing.Load() {
		return
	}
	if l.finalAt == 0 {
		l.finalAt = l.srv.clock.now(0) + graceful
		l.lookAtIdle()
	}
	if l.srv.broken.Load() {
		for _, s := range l.table {
			if s != nil {
				l.cut(s)
			}
		}
	}
}

// cut closes a connection, or makes the goroutine that has it do so.
func (l *loop) cut(s *socket) {
	if s.state.Load() == away {
		unix.Shutdown(s.fd, unix.SHUT_RDWR) // an error means that it has ended
		return
	}
	l.remove(s)
}

// lookAtIdle serves each idle socket, so that settle can close it if no request
// has arrived.
func (l *loop) lookAtIdle() {
	for _, s := range l.table {
		if s != nil && s.state.Load() != away && s.w == nil {
			l.again(s)
		}
	}
}

// receive accepts a new or returning socket.
func (l *loop) receive(s *socket) {
	if s.state.Load() == away {
		s.state.Store(resting)
		s.late = false
		if s.gone {
			l.remove(s)
			return
		}
		pending := s.pending.Swap(0)
		s.ended = s.ended || pending&pendingEnd != 0
		s.w.c.drained = s.w.c.drained && pending&pendingIn == 0
		l.settle(s, true)
		return
	}
	for len(l.table) <= s.fd {
		l.table = append(l.table, make([]*socket, max(64, len(l.table)))...)
	}
	l.table[s.fd] = s
	if s.doomed.Load() {
		l.remove(s)
		return
	}
	if idle := l.srv.timeouts[phaseIdle]; idle > 0 {
		s.deadline = l.srv.clock.now(idle) + idle + idle/16
		l.wheel.link(s, l.now)
	}
	if err := l.set.Add(s.fd, unix.EpollEvent{Events: interest, Fd: int32(s.fd)}); err != nil {
		l.remove(s)
		return
	}
	if l.final {
		l.again(s)
	}
}

// fetch polls for events, and waits if there is nothing else to do.
func (l *loop) fetch() {
	if l.told {
		l.told = false
		runtime.Gosched() // goroutines just woken have waited longer
	}
	l.at, l.filled = 0, 0
	if len(l.todo) > 0 {
		l.poll()
	} else {
		l.arm()
		err := l.set.Wait(l.tryFetch)
		l.parked.Store(false)
		if err != nil { // a poke or the deadline
			l.armed = 0
			l.set.SetDeadline(time.Time{}) // the next read shows an error
		}
	}
	l.now = l.srv.clock.now(0)
	l.watch.putOff(l.now)
	l.wheel.due(l.now, func(s *socket) {
		s.late = true
		l.again(s)
	})
	if l.finalAt > 0 && !l.final && l.now >= l.finalAt {
		l.final = true
		l.lookAtIdle()
	}
}

// arm sets when a wait ends without an event.
func (l *loop) arm() {
	at := l.wheel.wake()
	if l.finalAt > 0 && !l.final && (at == 0 || l.finalAt < at) {
		at = l.finalAt
	}
	if at == l.armed {
		return
	}
	l.armed = at
	deadline := time.Time{}
	if at > 0 {
		deadline = l.srv.clock.start.Add(at)
	}
	l.set.SetDeadline(deadline) // the next read shows an error
}

// poll fetches events without waiting.
func (l *loop) poll() bool {
	l.filled, _ = l.set.Fetch(l.events[:]) // the next Wait shows an error
	return l.filled > 0
}

// fetchOrPark is called by the runtime's poller, first directly and then
// whenever there may be events. Before it waits, the loop releases request
// memory.
func (l *loop) fetchOrPark(uintptr) bool {
	if l.poll() {
		return true
	}
	for _, w := range l.spare {
		if w.c.cx.r != nil {
			w.c.cx.drop()
		}
	}
	l.parked.Store(true)
	return l.mail.Load()
}

// close ends the loop.
func (l *loop) close() {
	for _, w := range l.spare {
		if w.c.cx.r != nil {
			w.c.cx.drop()
		}
	}
	l.spare = nil
	l.shut()
	l.srv.loopEnded()
}

// shut closes what an ended loop has open.
func (l *loop) shut() {
	l.set.Close() // no work is pending
	l.watch.alarm.close()
}
