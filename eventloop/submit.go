package eventloop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/procpin"
)

// A gate counts submissions until it is closed.
type gate struct {
	word atomic.Uint64 // closedBit, and how many submissions there were until it was set; publishes the end
	_    cpu.CacheLinePad
}

const closedBit = 1 << 63

// enter counts n submissions, unless the gate is closed.
func (g *gate) enter(n int) bool { return g.word.Add(uint64(n))&closedBit == 0 }

// close ends submissions and returns how many there were.
func (g *gate) close() uint64 { return g.word.Or(closedBit) }

// enter counts n submissions. From then on the loop waits for their tasks.
func (l *Loop) enter(n int) bool {
	p := procpin.Pin()
	procpin.Unpin()
	if l.gates[p&(len(l.gates)-1)].enter(n) {
		return true
	}
	<-l.shut // until the other gates are closed too: after one refusal there is no success
	return false
}

// Submit hands f to the loop, to be run once. The error is ErrClosed after
// Shutdown or Close, ErrFull beyond the limit, ErrNilTask, or nil.
func (l *Loop) Submit(f func()) error {
	if f == nil {
		return errSubmitNil
	}
	return l.submit(call(f))
}

// SubmitTask is Submit for a Task: a method together with its argument, for
// which no closure is needed.
func (l *Loop) SubmitTask(t Task) error {
	if t == nil {
		return errSubmitNil
	}
	return l.submit(t)
}

func (l *Loop) submit(t Task) error {
	if l.room.limit > 0 {
		if err := l.reserve(1); err != nil {
			return err
		}
	}
	if !l.post(t) {
		l.release(1)
		return errSubmitClosed
	}
	return nil
}

// post is submit without the limit. It reports whether the loop was open.
func (l *Loop) post(t Task) bool {
	if !l.enter(1) {
		return false
	}
	e := entry{task: t}
	if l.config.Latency != nil {
		e.at = l.now()
	}
	l.in.push(e)
	if l.parked.Load() != 0 {
		l.unpark()
	}
	return true
}

var scratch = sync.Pool{New: func() any { return new([64]entry) }}

// SubmitBatch submits all of the tasks or, with an error, none. They run in
// order; tasks of others may run in between.
func (l *Loop) SubmitBatch(tasks []Task) error {
	if slices.Contains(tasks, nil) {
		return errSubmitNil
	}
	if l.room.limit > 0 {
		if err := l.reserve(len(tasks)); err != nil {
			return err
		}
	}
	if !l.enter(len(tasks)) {
		l.release(len(tasks))
		return errSubmitClosed
	}
	at := int64(0)
	if l.config.Latency != nil {
		at = l.now()
	}
	buf := scratch.Get().(*[64]entry)
	for len(tasks) > 0 {
		n := min(len(tasks), len(buf))
		for i, t := range tasks[:n] {
			buf[i] = entry{t, at}
		}
		l.in.pushAll(buf[:n])
		clear(buf[:n])
		tasks = tasks[n:]
	}
	scratch.Put(buf)
	if l.parked.Load() != 0 {
		l.unpark()
	}
	return nil
}

// SubmitWait is SubmitTask that waits for room instead of returning ErrFull.
// Those who wait get a place in order. It returns the cause of ctx if that ends
// first, ErrClosed if the loop is closed, and ErrReentrant if it would have to
// wait on the loop.
func (l *Loop) SubmitWait(ctx context.Context, t Task) error {
	if t == nil {
		return errSubmitNil
	}
	if l.room.limit > 0 && !l.room.take(1) {
		if l.onLoop() {
			return fail("SubmitWait", ErrReentrant)
		}
		if err := l.room.wait(ctx, l.shut); err != nil {
			return fail("SubmitWait", err)
		}
	}
	if !l.post(t) {
		l.release(1)
		return fail("SubmitWait", ErrClosed)
	}
	return nil
}

func (l *Loop) reserve(n int) error {
	if l.room.take(n) {
		return nil
	}
	select {
	case <-l.shut:
		return errSubmitClosed
	default:
		return errSubmitFull
	}
}

func (l *Loop) release(n int) {
	if l.room.limit > 0 {
		l.room.give(n)
	}
}

// room counts the tasks that wait, where they are limited.
type room struct {
	limit   int64        // constant; 0 means that nothing is counted
	used    atomic.Int64 // tasks that wait and places granted; publishes nothing else
	waiting atomic.Int32 // len(waiters), for give to see without the mutex
	mu      sync.Mutex
	waiters []chan struct{} // guarded by mu; closed when granted a place, in order
}

// take takes n places if there are that many and nobody waits for one.
func (r *room) take(n int) bool {
	return r.waiting.Load() == 0 && r.grab(int64(n))
}

func (r *room) grab(n int64) bool {
	for {
		used := r.used.Load()
		if n > r.limit-used {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// give gives n places back, and to those who wait.
//
// A place cannot be missed: wait announces itself before it looks for a place,
// and give returns places before it looks for who waits.
func (r *room) give(n int) {
	r.used.Add(int64(-n))
	if r.waiting.Load() != 0 {
		r.mu.Lock()
		r.grant()
		r.mu.Unlock()
	}
}

// grant serves those who wait as far as there is room. The caller holds mu.
func (r *room) grant() {
	for len(r.waiters) > 0 && r.grab(1) {
		close(r.waiters[0])
		r.waiters = r.waiters[1:]
		r.waiting.Add(-1)
	}
}

// wait waits for a place.
func (r *room) wait(ctx context.Context, shut <-chan struct{}) error {
	granted := make(chan struct{})
	r.mu.Lock()
	r.waiters = append(r.waiters, granted)
	r.waiting.Add(1)
	r.grant()
	r.mu.Unlock()
	var err error
	select {
	case <-granted:
		return nil
	case <-shut:
		err = ErrClosed
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r.mu.Lock()
	i := slices.Index(r.waiters, granted)
	if i >= 0 {
		r.waiters = slices.Delete(r.waiters, i, i+1)
		r.waiting.Add(-1)
	}
	r.mu.Unlock()
	if i < 0 {
		r.give(1) // granted meanwhile
	}
	return err
}
