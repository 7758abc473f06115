package eventloop

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Timer identifies one call of After or Every. It may be copied; the zero
// value is a timer that is not pending.
type Timer struct {
	t   *timer
	use uint64 // the use of t it identifies
}

// After runs f on the loop once d has passed. It fails with ErrClosed after
// Shutdown or Close, and with ErrNilTask. Timers that are due at the same time
// run in the order they were set. The loop looks for due timers once in a turn,
// which runs up to 256 tasks: beside a backlog a timer is late by as many.
func (l *Loop) After(d time.Duration, f func()) (Timer, error) {
	return l.setTimer("After", d, 0, f)
}

// Every runs f on the loop at each multiple of d after the call. A late loop
// skips and counts runs, so an interval neither drifts nor piles up. It fails
// like After, and with ErrInterval unless d is positive.
func (l *Loop) Every(d time.Duration, f func()) (Timer, error) {
	if d <= 0 {
		return Timer{}, fail("Every", ErrInterval)
	}
	return l.setTimer("Every", d, d, f)
}

func (l *Loop) setTimer(operation string, d, every time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, fail(operation, ErrNilTask)
	}
	due := l.now()
	if d > 0 {
		due = add(due, int64(d))
	}
	t, first := l.timers.add(due, int64(every), f)
	if t.t == nil {
		return Timer{}, fail(operation, ErrClosed)
	}
	if first {
		l.sleeper.Wake() // it would sleep too long
	}
	return t, nil
}

// Cancel prevents the timer from running, or from running again if it is an
// interval. It reports whether it had an effect: false if the timer has run or
// has been cancelled, or if the loop is closed. It does not stop a run that has
// begun.
func (t Timer) Cancel() bool { return t.t != nil && t.t.owner.cancel(t) }

// Missed returns how many runs of an interval were skipped.
func (t Timer) Missed() uint64 {
	if t.t == nil {
		return 0
	}
	return t.t.missed.Load()
}

// A timer that runs once is reused when it is out of the heap. Timers of an earlier use
// recognize by use that they are over. Intervals are not reused, so that Missed stays valid.
type timer struct {
	run    func()
	every  int64 // 0, or the interval; constant
	owner  *timers
	missed atomic.Uint64 // added by the loop
	use    uint64        // how many uses have ended; guarded by owner.mu, like the fields below
	over   bool          // has run or been cancelled
	next   *timer        // in owner.free
}

// timers are the pending timers: a heap in which every node has four children,
// with the earliest on top. A cancelled timer stays in place until it reaches
// the top, or until half of the heap is garbage and swept out: so cancelling
// takes constant time on average. A hierarchical wheel takes half the time with
// a million timers (BenchmarkTimer), but it has a limited resolution (a
// millisecond there), loses the order within it, and must turn or search to
// know how long the loop may sleep.
type timers struct {
	live   atomic.Int64  // publishes how many are pending
	missed atomic.Uint64 // added by the loop: runs skipped

	mu     sync.Mutex // guards everything below
	heap   []node
	dead   int    // nodes whose timer is over
	seq    uint64 // of the next node
	free   *timer // for reuse, along next
	spare  int    // length of free
	closed bool
}

type node struct {
	due int64
	seq uint64
	t   *timer
}

func (a *node) before(b *node) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }

// add returns the sum, or the latest possible time on overflow.
func add(at, d int64) int64 {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// add adds a timer. first reports whether a sleeping loop now sleeps too long:
// the timer is the only one or the earliest. The Timer is zero if the loop is
// closed.
func (q *timers) add(due, every int64, run func()) (added Timer, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return Timer{}, false
	}
	t := q.free
	if t != nil && every == 0 {
		q.free, t.next = t.next, nil
		q.spare--
		t.over = false
	} else {
		t = &timer{every: every, owner: q}
	}
	t.run = run
	only := q.live.Add(1) == 1
	q.heap = append(q.heap, node{due, q.seq, t})
	q.seq++
	q.up(len(q.heap) - 1)
	return Timer{t, t.use}, only || q.heap[0].t == t
}

const maxSpareTimers = 1024

// release readies a timer that is over and out of the heap for reuse. The
// caller holds mu.
func (q *timers) release(t *timer) {
	if t.every == 0 && q.spare < maxSpareTimers {
		t.use++
		t.next, q.free = q.free, t
		q.spare++
	}
}

func (q *timers) cancel(c Timer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := c.t
	if t.use != c.use || t.over || q.closed {
		return false
	}
	t.over = true
	t.run = nil
	q.live.Add(-1)
	q.dead++
	if q.dead >= 64 && q.dead*2 > len(q.heap) {
		q.sweep()
	}
	return true
}

// sweep removes timers that are over. The caller holds mu.
func (q *timers) sweep() {
	q.heap = slices.DeleteFunc(q.heap, func(n node) bool {
		if n.t.over {
			q.release(n.t)
		}
		return n.t.over
	})
	q.dead = 0
	if cap(q.heap) > 1024 && len(q.heap) < cap(q.heap)/4 {
		q.heap = slices.Clone(q.heap)
	}
	for i := (len(q.heap) - 2) >> 2; i >= 0; i-- {
		q.down(i)
	}
}

// close drops all timers and accepts no more.
func (q *timers) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.heap, q.dead = true, nil, 0
	q.free, q.spare = nil, 0
	q.live.Store(0)
}

// mark returns a bound for due: timers set from now on are at or above it.
func (q *timers) mark() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

// next returns when the first timer is due.
func (q *timers) next() (due int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.trim()
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].due, true
}

// trim removes timers that are over from the top. The caller holds mu.
func (q *timers) trim() {
	for len(q.heap) > 0 && q.heap[0].t.over {
		t := q.heap[0].t
		q.pop()
		q.release(t)
		q.dead--
	}
}

// due takes the first timer that is due at now and was set before the mark, and
// returns its function and how late it is. An interval goes back into the heap
// at once, so it continues even if its function panics.
func (q *timers) due(now int64, mark uint64) (run func(), lag int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.trim()
	if len(q.heap) == 0 || q.heap[0].due > now || q.heap[0].seq >= mark {
		return nil, 0
	}
	top := &q.heap[0]
	t := top.t
	lag = now - top.due
	run = t.run
	if t.every == 0 {
		t.over = true
		t.run = nil
		q.live.Add(-1)
		q.pop()
		q.release(t)
		return run, lag
	}
	if missed := lag / t.every; missed > 0 {
		t.missed.Add(uint64(missed))
		q.missed.Add(uint64(missed))
		top.due += missed * t.every
	}
	top.due = add(top.due, t.every)
	top.seq = q.seq
	q.seq++
	q.down(0)
	return run, lag
}

// pop removes the top.
func (q *timers) pop() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = node{}
	q.heap = q.heap[:last]
	if last > 0 {
		q.down(0)
	}
}

func (q *timers) up(i int) {
	n := q.heap[i]
	for i > 0 {
		parent := (i - 1) >> 2
		if !n.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = n
}

func (q *timers) down(i int) {
	h := q.heap
	n := h[i]
	for {
		first := i<<2 + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&n) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = n
}
