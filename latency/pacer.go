package latency

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Pacer runs operations when they are due according to a [Schedule], however
// long the earlier ones took. The zero value runs the whole schedule and
// records nothing. The fields must not change during Run. A Pacer may be used
// for several runs, in sequence or at once.
type Pacer struct {
	// Response records response times, from when an operation was due to its end.
	// Service records service times, from its start to its end. Either may be nil.
	Response, Service *Recorder
	// Observe, if not nil, is called after each operation with the times when it
	// was due, began and ended, as times since Result.Start. The time it takes
	// delays the following operations.
	Observe func(due, began, ended time.Duration)
	// Deadline is the time after the start from which no more operations begin; 0
	// means no limit. Operations that were due before it and have not begun are
	// the backlog.
	Deadline time.Duration
}

// A Result accounts for one run of a [Pacer]: Due == Done + Backlog.
type Result struct {
	// Start is when the run began: time zero of the schedule.
	Start time.Time
	// Due counts the operations that were due before the run ended.
	Due int64
	// Done counts those that ran.
	Done int64
	// Backlog counts those that had not begun when the run ended.
	Backlog int64
	// MaxBacklog is the largest number of operations that were due but had not
	// begun, observed at the end and whenever an operation began, not counting
	// that one. It may be up to 1 part in 512 too low.
	MaxBacklog int64
	// MaxLate is the longest delay between an operation's due time and its start.
	MaxLate time.Duration
	// Elapsed is the time from the start to the end of the last operation.
	Elapsed time.Duration
}

// Run calls do once for each operation of s, one after another, on the calling
// goroutine. An operation begins when it is due, or at once if the earlier ones
// took longer; none is left out. Run returns when s is exhausted or the next
// operation is due after the deadline. If the deadline passes or ctx ends, it
// returns once the current operation has. An operation that is due when ctx
// ends counts as due; to count the rest, Run draws all of s up to that time.
//
// To begin on time, Run sleeps until shortly before an operation is due, by a
// margin that follows how late earlier sleeps ended, and then polls the clock.
// If operations follow each other more closely than that margin, Run keeps one
// CPU busy. It yields while polling only if GOMAXPROCS was 1 at the start.
func (p *Pacer) Run(ctx context.Context, s Schedule, do func()) Result {
	clock := newSystemClock(ctx)
	r := p.run(clock, s, do)
	r.Start = clock.start
	return r
}

// A clock is the time source of a run: the system's, or a test's.
type clock interface {
	// now returns the time since the start.
	now() time.Duration
	// sleep returns after d or more, or early once the run is cancelled.
	sleep(d time.Duration)
	// pause is called between two readings of now while waiting.
	pause()
	// cancelled reports whether the run should end.
	cancelled() bool
}

func (p *Pacer) run(c clock, s Schedule, do func()) Result {
	var (
		r      Result
		q      line
		w      = waiter{clock: c, margin: maxMargin / 4}
		latest time.Duration
	)
	for {
		due, ok := s.Next()
		if !ok {
			return r
		}
		if invariant.Enabled && due < latest {
			panic(fmt.Sprintf("latency: Pacer.Run: operation %d is due at %v, the one before at %v; due times must not decrease",
				r.Done, due, latest))
		}
		latest = due
		if p.Deadline > 0 && due >= p.Deadline {
			return r
		}
		now := w.until(due)
		if p.Deadline > 0 && now >= p.Deadline {
			r.drain(&q, s, due, p.Deadline-1)
			return r
		}
		if c.cancelled() {
			r.drain(&q, s, due, now)
			return r
		}
		r.Due++
		r.MaxLate = max(r.MaxLate, now-due)
		r.MaxBacklog = max(r.MaxBacklog, q.behind(r.Done, due))
		q.begin(r.Done, now)
		do()
		r.Elapsed = c.now()
		r.Done++
		if p.Response != nil {
			p.Response.Record(r.Elapsed - due)
		}
		if p.Service != nil {
			p.Service.Record(r.Elapsed - now)
		}
		if p.Observe != nil {
			p.Observe(due, now, r.Elapsed)
		}
	}
}

// drain counts the operations that will not run: the one due at due, and those
// that follow it in s and were due by end.
func (r *Result) drain(q *line, s Schedule, due, end time.Duration) {
	for ok := true; ok && due <= end; due, ok = s.Next() {
		r.MaxBacklog = max(r.MaxBacklog, q.behind(r.Due, due))
		r.Due++
		r.Backlog++
	}
	r.MaxBacklog = max(r.MaxBacklog, r.Backlog)
}

// maxMargin is the longest time spent polling the clock before an operation is
// due.
const maxMargin = 4 * time.Millisecond

// A waiter waits for due times. One goroutine uses it.
type waiter struct {
	clock
	// margin is how long before the due time a sleep should end: the longest
	// recent oversleep, at most maxMargin.
	margin time.Duration
}

// until waits until due, unless the run is cancelled, and returns the current
// time.
func (w *waiter) until(due time.Duration) time.Duration {
	now := w.now()
	for due-now > w.margin && !w.cancelled() {
		wake := due - w.margin
		w.sleep(wake - now)
		now = w.now()
		// The margin grows at once and shrinks by an eighth of the difference.
		over := max(now-wake, 0)
		w.margin = min(max(over, w.margin-(w.margin-over)/8), maxMargin)
	}
	for now < due && !w.cancelled() {
		w.pause()
		now = w.now()
	}
	return now
}

// A line remembers when operations began, to tell how many others waited. Its
// memory is bounded: when it is full it keeps every second entry.
type line struct {
	began       [lineLength]time.Duration // ring: when operation i began, at i/stride%lineLength
	stride      int64                     // operations per entry
	first, next int64                     // entries in the ring: [first, next), in strides
}

const lineLength = 1024

// begin notes that operation i begins.
func (q *line) begin(i int64, now time.Duration) {
	if q.first == q.next { // empty: back to full precision
		q.stride, q.first, q.next = 1, i, i
	}
	if i%q.stride != 0 {
		return
	}
	if q.next-q.first == lineLength {
		q.thin()
		if i%q.stride != 0 {
			return
		}
	}
	q.began[q.next%lineLength] = now
	q.next++
}

// thin drops the entries of odd index.
func (q *line) thin() {
	old := *q
	q.stride *= 2
	q.first = (old.first + 1) / 2
	q.next = q.first
	for k := 2 * q.first; k < old.next; k += 2 {
		q.began[q.next%lineLength] = old.began[k%lineLength]
		q.next++
	}
}

// behind returns how many of the operations before i, which is due at due,
// began at that time or later, less one: when the first of these began, i and
// those in between were due and waiting.
func (q *line) behind(i int64, due time.Duration) int64 {
	for q.first < q.next && q.began[q.first%lineLength] < due {
		q.first++
	}
	if q.first == q.next {
		return 0
	}
	return i - q.first*q.stride
}

// systemClock is the clock of a run outside tests.
type systemClock struct {
	start time.Time
	done  <-chan struct{}
	timer *time.Timer
	alone bool // there is one P, so others run only when this goroutine yields
}

func newSystemClock(ctx context.Context) *systemClock {
	timer := time.NewTimer(0)
	timer.Stop()
	return &systemClock{
		start: time.Now(),
		done:  ctx.Done(),
		timer: timer,
		alone: runtime.GOMAXPROCS(0) == 1,
	}
}

func (c *systemClock) now() time.Duration { return time.Since(c.start) }

func (c *systemClock) sleep(d time.Duration) {
	c.timer.Reset(d)
	select {
	case <-c.timer.C:
	case <-c.done:
		c.timer.Stop()
	}
}

func (c *systemClock) pause() {
	if c.alone {
		runtime.Gosched()
	}
}

func (c *systemClock) cancelled() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}
