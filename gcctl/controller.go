package gcctl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"
)

// A Controller controls the process's garbage collector. It must not be copied.
//
// It holds what callers share with the controller's goroutine, a loop.
type Controller struct {
	gate gate
	idle idleState

	born time.Time // constant

	wake    chan struct{} // buffers one signal: there is something to look at
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when control has ended
	once    sync.Once     // of Close
	release func()        // gives up the claim on the process

	budgeted atomic.Bool // there is a budget; written by the controller's goroutine

	mu     sync.Mutex
	want   wanted // under mu; settings for the controller's goroutine to adopt
	stats  Stats  // under mu; written by the controller's goroutine
	forced *batch // under mu; callers that the next collection serves, nil for none
}

// wanted is what callers last asked for.
type wanted struct {
	mode     Mode
	fallback bool
	serial   uint64 // of SetMode and Fallback
}

// active is set while a controller has claimed the process.
var active atomic.Bool

// Start begins control of the process's collector. The mode's settings are in
// force when it returns. It fails with ErrRunning while another controller is
// running. It also fails if the live heap already exceeds the budget, and may
// collect to find out.
func Start(cfg Config) (*Controller, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if !active.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	release := func() { active.Store(false) }
	rt, err := newRuntime()
	if err != nil {
		release()
		return nil, err
	}
	c, err := start(cfg, rt, detectLimit)
	if err != nil {
		release()
		return nil, err
	}
	c.release = release
	return c, nil
}

// start is Start for any engine; detect turns the runtime's limit into the
// environment's budget.
func start(cfg Config, rt engine, detect func(int64) int64) (*Controller, error) {
	c := &Controller{
		born: time.Now(), release: func() {},
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		want: wanted{mode: cfg.Mode, serial: 1},
	}
	l := &loop{
		c: c, cfg: cfg, rt: rt, detect: detect, cost: time.Microsecond,
		jobs: make(chan struct{}), finished: make(chan time.Duration, 1),
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	if len(cfg.FallbackSignals) > 0 { // Notify without signals means all of them
		l.signals = make(chan os.Signal, 1)
		signal.Notify(l.signals, cfg.FallbackSignals...)
	}
	go collector(rt, l.jobs, l.finished) // the first turn may hand it work
	go l.run(l.turn())
	return c, nil
}

// collector runs the collections that a loop hands over. Each blocks until it
// has ended.
func collector(rt engine, jobs <-chan struct{}, finished chan<- time.Duration) {
	for range jobs {
		began := time.Now()
		rt.collect()
		finished <- time.Since(began)
	}
}

// Close ends control and restores the settings that Start found, or later ones
// made by someone else. One that equals the controller's own goes unseen: code
// that sets GOGC to off for a while, and then to what debug.SetGCPercent
// returned, may have it off after Close. Use a section instead. Close waits for a
// collection that the controller has started. Open sections may still be ended
// but hold nothing back. Closing twice does nothing.
func (c *Controller) Close() error {
	c.once.Do(func() { close(c.quit) })
	<-c.done
	return nil
}

// SetMode changes the mode and ends a fallback. The controller's goroutine
// applies the mode; SetMode does not wait for that.
func (c *Controller) SetMode(m Mode) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("gcctl: SetMode: %w", err)
	}
	if m == Off && !c.budgeted.Load() {
		return fmt.Errorf("gcctl: SetMode: %w", errUnlimited)
	}
	return c.ask(m, false)
}

var errUnlimited = errors.New("in mode off without a memory limit the heap grows until the process is killed; " +
	"set LimitBytes or GOMEMLIMIT")

// Fallback returns to standard behaviour until SetMode is called: the GOGC that
// Start found, under the memory limit. Critical sections hold nothing back. A
// closed controller has already restored everything.
func (c *Controller) Fallback() { _ = c.ask(Default, true) }

func (c *Controller) ask(m Mode, fallback bool) error {
	select {
	case <-c.quit:
		return ErrClosed
	default:
	}
	c.mu.Lock()
	c.want = wanted{mode: m, fallback: fallback, serial: c.want.serial + 1}
	c.mu.Unlock()
	c.nudge()
	return nil
}

// Mode returns the mode last set, or Default after a fallback.
func (c *Controller) Mode() Mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want.mode
}

// Stats returns the controller's gauges and counters.
func (c *Controller) Stats() Stats {
	c.mu.Lock()
	s := c.stats
	s.Mode, s.Fallback = c.want.mode, c.want.fallback
	c.mu.Unlock()
	s.Open = c.gate.open() + int(c.gate.cutOpen.Load())
	return s
}

// nudge tells the controller's goroutine to look.
func (c *Controller) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// A batch is a set of Force calls served by one collection.
type batch struct {
	callers int           // under Controller.mu
	done    chan struct{} // closed when the collection has ended
}

// Force collects once no critical section is open, or once the watchdog must.
// It returns after a collection that began after the call. Sections that begin
// after the collection has started do not wait for it. If sections overlap
// forever, only ctx ends the call.
func (c *Controller) Force(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gcctl: Force: not started: %w", err)
	}
	select {
	case <-c.quit:
		return ErrClosed
	default:
	}
	c.mu.Lock()
	if c.forced == nil {
		c.forced = &batch{done: make(chan struct{})}
	}
	b := c.forced
	b.callers++
	c.mu.Unlock()
	c.nudge()
	select {
	case <-b.done:
		return nil
	case <-c.done:
		select {
		case <-b.done:
			return nil
		default:
			return ErrClosed
		}
	case <-ctx.Done():
	}
	c.mu.Lock()
	if b.callers--; b.callers == 0 && c.forced == b {
		c.forced = nil
	}
	c.mu.Unlock()
	return fmt.Errorf("gcctl: Force: not collected yet, with %d sections open; end them or allow more time: %w",
		c.gate.open(), ctx.Err())
}

func (c *Controller) forcing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forced != nil
}

func (c *Controller) takeBatch() *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.forced
	c.forced = nil
	return b
}

// idleState holds the values by which Idle decides. Times are nanoseconds since the controller was created.
type idleState struct {
	from  atomic.Int64 // when a collection becomes worth its cost; written by the controller
	late  atomic.Int64 // when the runtime or the schedule would start one; written by the controller
	cost  atomic.Int64 // expected duration of a collection; written by the controller
	last  atomic.Int64 // when Idle was last called; written by its callers
	gap   atomic.Int64 // average time between calls; written by callers, a lost update is harmless
	asked atomic.Bool  // a caller has requested a collection; the controller clears it when it has ended
}

const never = math.MaxInt64

// Idle tells the controller that the caller has nothing to do for about expect,
// 0 if unknown. Event loops call it before they wait, servers between requests,
// batch jobs at their end.
//
// In modes Idle, Hybrid and Adaptive, Idle has the controller start a
// collection and returns true in two cases: a collection fits into the gap and
// the heap is halfway to its goal, or the heap will reach the goal before the
// next gap. While a collection of the runtime is marking, Idle starts none. It
// does not wait for the collection.
func (c *Controller) Idle(expect time.Duration) bool {
	i := &c.idle
	now := int64(time.Since(c.born))
	last, gap := i.last.Swap(now), i.gap.Load()
	if last > 0 {
		gap += (now - last - gap) / policy.gapWeight
		i.gap.Store(gap)
	}
	// A collection that begins now does at least part of its work in idle time;
	// one that the goal forces later does none of it there.
	soon := now+gap >= i.late.Load()
	if now < i.from.Load() && !soon {
		return false
	}
	if cost := i.cost.Load(); expect > 0 && int64(expect) < cost && !(soon && int64(expect) >= cost/policy.idleShare) {
		return false
	}
	if c.gate.state.Load()&(countMask|collecting) != 0 || !i.asked.CompareAndSwap(false, true) {
		return false
	}
	c.nudge()
	return true
}
