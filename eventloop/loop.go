package eventloop

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/park"
	"github.com/isobar-go/isobar/latency"
)

// A Task is something to run. Run is called once for each submission; a Task
// may be submitted again, even while it is queued.
type Task interface{ Run() }

// call makes a function a Task without allocation, because a function value is
// a pointer. BenchmarkSubmit shows that it costs the same as a Task.
type call func()

func (f call) Run() { f() }

// Config configures a loop. The zero value is ready to use.
type Config struct {
	// Limit is how many tasks may wait to start. Beyond it Submit returns ErrFull
	// and SubmitWait waits. 0 means no limit. Timers, microtasks and promise
	// reactions do not count. What Go and Await hand over counts, but is never refused.
	Limit int

	// Idle is called on the loop before it sleeps, with the time until the next
	// timer is due, or 0 if there is none. Its result is ignored; the signature
	// fits the method Idle of a gcctl.Controller.
	Idle func(expect time.Duration) bool

	// Latency records the time from each task's submission to its start. It costs
	// two clock readings a task.
	Latency *latency.Recorder

	// OnPanic is called on the loop with the panic value of a task, timer or
	// microtask and its stack, or with ErrGoexit if it called runtime.Goexit. Nil
	// logs an error to slog.Default.
	OnPanic func(value any, stack []byte)

	// OnUnhandled is called on the loop with the reason of a rejected promise that
	// still has no reaction when the microtasks are done. Nil logs an error to
	// slog.Default.
	OnUnhandled func(reason error)
}

// A Loop runs tasks one after another. Make one with [New]; the zero value is
// not usable, and a Loop must not be copied.
type Loop struct {
	// Set by New and constant afterwards.
	config Config
	in     ingress
	start  time.Time
	shut   chan struct{} // closed when submissions end
	done   chan struct{} // closed when the loop has ended for good
	timers timers
	room   room
	io     descriptors

	// Read by submissions and turns; written only by sleeping, closing and new
	// producers.

	_       cpu.CacheLinePad
	leaving atomic.Int32 // how many lanes their producers have closed. Changed by the holder of mu

	// Publishes the producers' lanes; nil if there never was one. Replaced by the
	// holder of mu.
	lanes atomic.Pointer[laneSet]

	sleeper park.Sleeper  // owned by the loop
	signals atomic.Uint32 // publishes requests to the loop: the bits of signal
	runner  atomic.Uint64 // the id of the goroutine that runs the loop, 0 if none does

	_      cpu.CacheLinePad
	public counters // publishes the loop's counts

	mu       sync.Mutex
	state    state  // guarded by mu
	closed   bool   // guarded by mu: submissions have ended
	accepted uint64 // written once under mu before closing is signalled: how many submissions there were

	// Owned by the loop's goroutine, or by the holder of mu while none runs the
	// loop.
	batch        [batchLen]Task
	next, filled int    // batch[next:filled] remains to run
	ran          uint64 // tasks started
	published    uint64 // the part of ran that is published
	rotation     int    // where gather continues
	turnCount    uint64
	asked        bool // Config.Idle has been called since the last sleep
	ticks, micro fifo
	unhandled    []rejection
	alarm        *time.Timer
}

const batchLen = 256

type state uint8

const (
	idle    state = iota // not running; may be run
	running              // a goroutine is in Run
	ended                // for good
)

const (
	stopRun  uint32 = 1 << iota // the context of Run has ended
	drainAll                    // Shutdown: end when everything accepted has run
	dropAll                     // Close: end after the task in progress
)

// New returns a loop, which does nothing until it runs. Tasks may be submitted
// and timers set before that.
func New(config Config) (*Loop, error) {
	if config.Limit < 0 {
		return nil, fail("New", ErrConfig)
	}
	return newLoop(config, newIngress()), nil
}

func newLoop(config Config, in ingress) *Loop {
	if config.OnPanic == nil {
		config.OnPanic = func(value any, stack []byte) {
			slog.Error("eventloop: a task panicked", "value", value, "stack", string(stack))
		}
	}
	if config.OnUnhandled == nil {
		config.OnUnhandled = func(reason error) {
			slog.Error("eventloop: a promise was rejected and nobody handled it", "reason", reason)
		}
	}
	l := &Loop{
		config: config, in: in, start: time.Now(),
		shut: make(chan struct{}), done: make(chan struct{}),
	}
	l.sleeper.Init()
	l.room.limit = int64(config.Limit)
	return l
}

// now is the time since the loop was made, on the monotonic clock, at least 1.
func (l *Loop) now() int64 { return int64(time.Since(l.start)) + 1 }

// Run runs the loop on the calling goroutine. It returns nil after Shutdown or
// Close, or the cause of ctx when ctx ends: the current task finishes first,
// everything else stays queued, and Run may be called again.
//
// If a task calls runtime.Goexit, which ends the goroutine and cannot be
// prevented, the loop continues on another one. Run then holds the calling
// goroutine until it would return, and lets the goroutine end instead.
func (l *Loop) Run(ctx context.Context) (err error) {
	if l.done == nil {
		panic("eventloop: Run: zero Loop; make it with New")
	}
	if err := l.begin(); err != nil {
		return err
	}
	stop := l.watch(ctx)
	finished := false
	defer func() {
		if !finished {
			l.replace()
		}
		stop()
		if !l.end() {
			err = context.Cause(ctx)
		}
	}()
	l.runAll()
	finished = true
	return nil
}

func (l *Loop) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state == ended:
		return fail("Run", ErrClosed)
	case l.state == running && l.onLoop():
		return fail("Run", ErrReentrant)
	case l.state == running:
		return fail("Run", ErrRunning)
	}
	l.state = running
	l.runner.Store(goroutine())
	return nil
}

// watch turns the end of ctx into a signal, until stop is called.
func (l *Loop) watch(ctx context.Context) (stop func()) {
	fired := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		l.signal(stopRun)
		close(fired)
	})
	return func() {
		if !cancel() {
			<-fired
		}
		l.signals.And(^stopRun)
	}
}

// runAll runs until the loop should stop. Only Goexit cuts it short.
func (l *Loop) runAll() {
	for !l.contained() {
	}
}

// contained runs turns and reports whether they finished without a panic.
func (l *Loop) contained() (end bool) {
	defer func() {
		if !end {
			l.report(recover())
		}
	}()
	l.turns()
	return true
}

// replace runs the loop to its end after a task has called Goexit. It uses
// fresh goroutines, since this one cannot be saved. However often that happens,
// its stack does not grow.
func (l *Loop) replace() {
	for end := false; !end; {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			l.runner.Store(goroutine())
			l.runAll()
			end = true
		}()
		<-gone
	}
}

// end gives up the loop and reports whether it has ended for good.
func (l *Loop) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.publish()
	l.runner.Store(0)
	l.state = idle
	return l.settle()
}

// settle ends an idle loop for good if it was closed and nothing remains to do.
// The caller holds mu.
func (l *Loop) settle() bool {
	if l.state == idle && l.finished(l.signals.Load()) {
		l.state = ended
		l.io.release()
		close(l.done)
	}
	return l.state == ended
}

// close ends submissions and signals why. The caller holds mu.
func (l *Loop) close(why uint32) {
	if !l.closed {
		l.closed = true
		l.accepted = l.in.Close() + l.lanes.Load().total((*lane).Close)
		l.timers.close()
		l.io.refuse()
		close(l.shut)
	}
	l.signal(why)
	l.settle()
}

// Shutdown ends submissions and timers, and waits until everything that was
// submitted has run, including microtasks. If ctx ends first it returns the
// cause, and the loop continues to drain. It returns ErrClosed if Close ended
// the loop instead. A loop that is not running keeps its tasks until Run or
// Close. Called on the loop, Shutdown returns nil without waiting.
func (l *Loop) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.close(drainAll)
	l.mu.Unlock()
	if l.onLoop() {
		return nil
	}
	select {
	case <-l.done:
	default:
		select {
		case <-l.done:
		case <-ctx.Done():
			return fail("Shutdown", context.Cause(ctx))
		}
	}
	if l.signals.Load()&dropAll != 0 {
		return fail("Shutdown", ErrClosed)
	}
	return nil
}

// Close ends the loop after the current task and waits for that task, unless it
// is called on the loop. It returns how many submitted tasks will never start,
// not counting timers and microtasks. A second Close, or one after Shutdown has
// finished, returns ErrClosed.
func (l *Loop) Close() (dropped int, err error) {
	l.mu.Lock()
	if l.state == ended || l.signals.Load()&dropAll != 0 {
		l.mu.Unlock()
		return 0, fail("Close", ErrClosed)
	}
	l.close(dropAll)
	l.mu.Unlock()
	if !l.onLoop() {
		<-l.done
	}
	return int(l.accepted - l.ran), nil
}

// Done returns a channel that is closed when the loop has ended for good.
func (l *Loop) Done() <-chan struct{} { return l.done }

// onLoop reports whether the calling goroutine runs the loop.
func (l *Loop) onLoop() bool {
	r := l.runner.Load()
	return r != 0 && r == goroutine()
}

// goroutine returns the id of the calling goroutine, which the runtime reveals
// only in the first line of a stack: "goroutine 12 [running]:". It takes about
// a microsecond and is called only before slow operations or in debug builds.
func goroutine() uint64 {
	var buf [40]byte
	var id uint64
	for _, c := range buf[len("goroutine "):runtime.Stack(buf[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}
