package http11

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// How long finished responses to pipelined requests wait for a later one at
// most, and how often loops are looked at.
const (
	owingTick = 500 * time.Microsecond
	loopTick  = 5 * time.Millisecond
)

// A watch looks after what a handler that takes its time would hold up: the
// finished responses before it, which it sends, and, with Readiness, the other
// connections of its loop, which it has another goroutine serve. It sleeps while
// nothing can be held up.
type watch struct {
	srv    *Server
	asleep atomic.Bool   // set by the watch, cleared by who wakes it
	wake   chan struct{} // has a token when asleep was cleared
	stop   chan struct{} // closed when the server has ended

	mu    sync.Mutex
	owing []debt // guarded by mu

	held  atomic.Uint64 // loops that were held; publishes nothing
	loops loopWatch     // owned by the watch
}

// A debt is an exchange that calls a handler while finished responses wait.
type debt struct {
	x *exchange
	r *region // x.r
}

func newWatch(s *Server) *watch {
	w := &watch{srv: s, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	go w.run()
	return w
}

// busy wakes the watch if it sleeps.
func (w *watch) busy() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

func (w *watch) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	quiet := 0 // ticks without anything to watch
	for {
		tick := owingTick
		owed := w.sendOwed()
		loops := w.loops.look(w)
		switch {
		case owed:
			quiet = 0
		case loops:
			quiet, tick = min(quiet+1, 10), loopTick
			if quiet < 10 {
				tick = owingTick // another batch is likely
			}
		default:
			quiet++
		}
		if quiet > 10 && !loops {
			w.asleep.Store(true)
			if w.idle() || !w.asleep.CompareAndSwap(true, false) {
				select {
				case <-w.wake:
				case <-w.stop:
					return
				}
			}
			quiet = 0
		}
		timer.Reset(tick)
		select {
		case <-timer.C:
		case <-w.stop:
			return
		}
	}
}

// idle reports whether there is nothing to watch, after asleep was set: who
// begins something from here on wakes the watch.
func (w *watch) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.owing) == 0 && !w.loops.any(w)
}

// owe takes note that a handler is called while finished responses wait. Where
// they cannot be sent beside the handler, they are sent now; it reports false if
// that fails.
func (c *conn) owe() bool {
	if c.raw == nil {
		return c.cx.sendEarlier() == nil
	}
	if c.owing {
		return true
	}
	c.owing = true
	w := c.srv.watch
	w.mu.Lock()
	w.owing = append(w.owing, debt{&c.cx, c.cx.r})
	w.mu.Unlock()
	w.busy()
	return true
}

// paid follows owe when no handler runs.
func (c *conn) paid() {
	if !c.owing {
		return
	}
	c.owing = false
	w := c.srv.watch
	w.mu.Lock()
	i := slices.IndexFunc(w.owing, func(d debt) bool { return d.x == &c.cx })
	last := len(w.owing) - 1
	w.owing[i] = w.owing[last]
	w.owing[last] = debt{}
	w.owing = w.owing[:last]
	w.mu.Unlock()
}

// sendOwed sends what waits, and reports whether there was any.
func (w *watch) sendOwed() bool {
	w.mu.Lock()
	defer w.mu.Unlock() // an exchange stays what it is while it is listed
	for _, d := range w.owing {
		if !d.r.tryReclaim() { // somebody is at work on it
			continue
		}
		if d.r.x == d.x && d.x.served && !d.x.writing {
			d.x.conn.sendSome()
		}
		d.r.pass()
	}
	return len(w.owing) > 0
}

// sendSome sends as much of the finished responses as there is room for. The
// watch has the turn.
func (c *conn) sendSome() {
	x := &c.cx
	if x.mark == 0 || c.broken || c.hijacked {
		return
	}
	n := 0
	err := c.raw.Control(func(fd uintptr) {
		m, errno := writeFD(fd, x.out[:x.mark])
		if errno == 0 {
			n = m
		}
	})
	if err != nil || n <= 0 {
		return // the connection finds out by itself
	}
	c.sent += int64(n)
	x.out = x.out[:copy(x.out, x.out[n:])]
	x.mark -= n
}
