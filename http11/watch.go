package http11

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// How often debts and loops are looked at, and how long after the last debt. Each
// tick costs some microseconds of CPU time.
const (
	owingTick  = 4 * time.Millisecond
	owingLasts = 2 * owingTick
	loopTick   = 10 * time.Millisecond
)

// A watch looks after what a handler that takes its time would hold up: the
// finished responses before it, which it sends, and, with Readiness, the other
// connections of its loop, which it has another goroutine serve. It sleeps while
// nothing can be held up.
type watch struct {
	srv  *Server
	rest atomic.Uint32 // set by the watch, cleared by who wakes it
	wake chan struct{} // has a token when rest was cleared
	stop chan struct{} // closed when the server has ended

	mu    sync.Mutex
	owing []debt // guarded by mu

	held  atomic.Uint64 // loops that were held; publishes nothing
	loops loopWatch     // owned by the watch
}

// A watchTest is what a test asks of a watch.
type watchTest struct {
	unwatched bool   // it does nothing
	onWatch   func() // called first on its goroutine, if set
}

// How soundly the watch rests.
const (
	awake  = iota
	dozing // it looks at loops; a debt wakes it
	asleep // a loop wakes it too
)

// A debt is an exchange that calls a handler while finished responses wait.
type debt struct {
	x    *exchange
	r    *region // x.r
	seen uint64  // the epoch of r at the last look
	sent bool    // nothing waits in that epoch
}

// due reports whether something may wait.
func (d debt) due() bool { return !d.sent || d.r.epoch() != d.seen }

func newWatch(s *Server) *watch {
	w := &watch{srv: s, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if !s.unwatched {
		go w.run()
	}
	return w
}

// rouse wakes the watch if it rests at least as soundly as that.
func (w *watch) rouse(rest uint32) {
	if now := w.rest.Load(); now >= rest && w.rest.CompareAndSwap(now, awake) {
		w.wake <- struct{}{}
	}
}

func (w *watch) run() {
	if w.srv.onWatch != nil {
		w.srv.onWatch()
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var last, owed time.Time // of the last look, and of the last with debts
	for {
		now := time.Now()
		if w.sendOwed(now.Sub(last)) {
			owed = now
		}
		last = now
		loops := w.loops.look(w, now)
		tick, rest := loopTick, uint32(dozing)
		switch {
		case now.Sub(owed) < owingLasts:
			tick, rest = owingTick, awake
		case !loops:
			rest = asleep
		}
		if rest != awake {
			w.rest.Store(rest)
			if !w.mayRest(rest) && w.rest.CompareAndSwap(rest, awake) {
				tick, rest = owingTick, awake
			}
		}
		timer.Reset(tick)
		if rest == asleep {
			timer.Stop()
		}
		select {
		case <-timer.C:
			if rest != awake && !w.rest.CompareAndSwap(rest, awake) {
				<-w.wake
			}
		case <-w.wake:
		case <-w.stop:
			return
		}
	}
}

// mayRest reports whether nothing came up while the watch went to rest: who begins
// something from here on wakes it.
func (w *watch) mayRest(rest uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.owing, debt.due) && (rest < asleep || !w.loops.any(w))
}

// owe takes note that a handler is called while finished responses wait. Where
// they cannot be sent beside the handler, they are sent now; it reports false if
// that fails.
func (c *conn) owe() bool {
	if c.raw == nil {
		return c.cx.sendEarlier() == nil
	}
	w := c.srv.watch
	if !c.owing && !c.srv.unwatched {
		c.owing = true
		w.mu.Lock()
		w.owing = append(w.owing, debt{x: &c.cx, r: c.cx.r})
		w.mu.Unlock()
	}
	w.rouse(dozing)
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

// sendOwed sends what waited at the last look too, that long ago, and reports whether
// anything may wait. Where the watch itself was late, handlers may have had no CPU
// either: then nothing is sent.
func (w *watch) sendOwed(since time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock() // an exchange stays what it is while it is listed
	for i := range w.owing {
		d := &w.owing[i]
		if epoch := d.r.epoch(); epoch != d.seen { // another request: it goes on
			d.seen, d.sent = epoch, false
			continue
		}
		if d.sent || since > 2*owingTick || !d.r.tryReclaim() { // or somebody is at work on it
			continue
		}
		if d.r.x == d.x && d.x.served && !d.x.writing {
			d.x.conn.sendSome()
			d.sent = d.x.mark == 0
		}
		d.r.pass()
	}
	return slices.ContainsFunc(w.owing, debt.due)
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
