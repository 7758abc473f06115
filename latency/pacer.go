package latency

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Pacer runs operations when a [Schedule] says that they are due, whatever
// time the ones before took. The zero value runs to the end of the schedule
// and records nothing. The fields must not change during Run; a Pacer may be
// used for several runs, one after another or at once.
type Pacer struct {
	// Response records response times: from when an operation was due to its
	// end. Service records service times: from its beginning to its end.
	// Either may be nil.
	Response, Service *Recorder
	// Observe, if not nil, is called after each operation with when it was
	// due, when it began and when it ended, as times since Result.Start. What
	// it takes delays the operations that follow.
	Observe func(due, began, ended time.Duration)
	// Deadline is the time after the start at which no more operations
	// begin; 0 means no limit. What was due before it and has not begun is
	// the backlog.
	Deadline time.Duration
}

// A Result accounts for one run of a [Pacer]: Due == Done + Backlog.
type Result struct {
	// Start is when the run began: the zero of the schedule.
	Start time.Time
	// Due counts the operations that were due before the run ended.
	Due int64
	// Done counts those that ran.
	Done int64
	// Backlog counts those that had not begun when the run ended.
	Backlog int64
	// MaxBacklog is the largest number of operations that were due but had
	// not begun, seen each time an operation began, without this one, and at
	// the end. It may be less than that by up to 1 part in 512.
	MaxBacklog int64
	// MaxLate is the longest time by which an operation began late.
	MaxLate time.Duration
	// Elapsed is the time from the start to the end of the last operation.
	Elapsed time.Duration
}

// Run calls do once for each operation of s, one after another, on the calling
// goroutine. An operation begins when it is due, or at once if the ones before
// it took longer; none is left out. Run returns when s has none left, when the
// next one is due after the deadline, or when the deadline passes or ctx ends,
// once the operation under way has returned. An operation that is due when ctx
// ends counts as due, and all of s up to that time is drawn to count the rest.
//
// To begin on time, Run sleeps until shortly before an operation is due, as
// shortly as the sleeps so far have kept their time, and then reads the clock
// until it is. Where operations follow each other more closely than that it
// keeps one CPU busy. It yields while it reads the clock only if GOMAXPROCS
// was 1 at the start.
func (p *Pacer) Run(ctx context.Context, s Schedule, do func()) Result {
	clock := newSystemClock(ctx)
	r := p.run(clock, s, do)
	r.Start = clock.start
	return r
}

// A clock is what a run waits by: the system's, or a test's.
type clock interface {
	// now returns the time since the start.
	now() time.Duration
	// sleep returns after d or more, or early once the run is cancelled.
	sleep(d time.Duration)
	// pause is called between two readings of now while waiting.
	pause()
	// cancelled reports whether the run is to end.
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
			panic(fmt.Sprintf("latency: Pacer.Run: operation %d is due at %v, the one before at %v: the schedule must not go back", r.Done, due, latest))
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

// drain counts the operations that will not run: the one due at due and those
// that follow it in s, as far as they were due by end.
func (r *Result) drain(q *line, s Schedule, due, end time.Duration) {
	for ok := true; ok && due <= end; due, ok = s.Next() {
		r.MaxBacklog = max(r.MaxBacklog, q.behind(r.Due, due))
		r.Due++
		r.Backlog++
	}
	r.MaxBacklog = max(r.MaxBacklog, r.Backlog)
}

// maxMargin is the longest time before an operation is due that is spent
// reading the clock.
const maxMargin = 4 * time.Millisecond

// A waiter waits for due times. One goroutine uses it.
type waiter struct {
	clock
	// margin is how long before the due time a sleep is to end: the longest
	// oversleep of late, at most maxMargin.
	margin time.Duration
}

// until waits until due, unless the run is cancelled, and returns the time.
func (w *waiter) until(due time.Duration) time.Duration {
	now := w.now()
	for due-now > w.margin && !w.cancelled() {
		wake := due - w.margin
		w.sleep(wake - now)
		now = w.now()
		// Up at once, down by an eighth of the difference.
		over := max(now-wake, 0)
		w.margin = min(max(over, w.margin-(w.margin-over)/8), maxMargin)
	}
	for now < due && !w.cancelled() {
		w.pause()
		now = w.now()
	}
	return now
}

// A line remembers when operations began, as far as that tells how many others
// waited. Its memory is bounded: when it is full it keeps every second entry.
type line struct {
	began       [lineLength]time.Duration // ring: when operation i began, at i/stride%lineLength
	stride      int64                     // operations per entry
	first, next int64                     // entries in the ring: [first, next), in strides
}

const lineLength = 1024

// begin notes that operation i begins.
func (q *line) begin(i int64, now time.Duration) {
	if q.first == q.next { // empty: whole precision again
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

// behind returns how many of the operations before i, due at due, began at
// that time or later, but for the first of these: when the first began, i and
// those between them were due and waited.
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
	alone bool // there is one P: others run only while this goroutine yields
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
