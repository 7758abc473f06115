package eventloop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Submit hands f to the loop to run once. The error is ErrClosed after Shutdown
// or Close, ErrFull beyond the limit, ErrNilTask, or nil.
func (l *Loop) Submit(f func()) error {
	if f == nil {
		return errSubmitNil
	}
	return l.submit(call(f))
}

// SubmitTask is Submit for a Task: a method together with its argument, which
// needs no closure.
func (l *Loop) SubmitTask(t Task) error {
	if t == nil {
		return errSubmitNil
	}
	return l.submit(t)
}

func (l *Loop) submit(t Task) error {
	if l.config.Limit > 0 {
		if err := l.reserve(1); err != nil {
			return err
		}
	}
	if !l.post(t) {
		return l.refused(1)
	}
	return nil
}

// post is submit without the limit. It reports whether the loop was open.
func (l *Loop) post(t Task) bool {
	if l.config.Latency != nil {
		t = l.stamp(t, l.now())
	}
	if !l.in.Push(t) {
		return false
	}
	l.sleeper.Wake()
	return true
}

// deliver posts a task of the loop's own promises, which takes a place even beyond the limit:
// runBatch gives one back for every task.
func (l *Loop) deliver(f func()) {
	if l.config.Limit > 0 {
		l.room.used.Add(1)
	}
	if !l.post(call(f)) {
		l.release(1)
	}
}

// refused ends a submission of n tasks to a closed loop. It waits until all
// ways into the loop are closed: after one refusal no submission succeeds.
func (l *Loop) refused(n int) error {
	<-l.shut
	l.release(n)
	return errSubmitClosed
}

// SubmitBatch submits all of the tasks, in order and contiguously, or, on
// error, none. More tasks than Config.Limit never fit.
func (l *Loop) SubmitBatch(tasks []Task) error {
	ok, err := l.offer(l.in, tasks)
	if err == nil && !ok {
		return l.refused(len(tasks))
	}
	return err
}

// pusher is the producers' side of an ingress or a lane.
type pusher interface{ PushBatch([]Task) int }

// offer reports whether the tasks were accepted. If not, and without an error, their places
// are still reserved.
func (l *Loop) offer(to pusher, tasks []Task) (ok bool, err error) {
	if slices.Contains(tasks, nil) {
		return false, errSubmitNil
	}
	if l.config.Limit > 0 {
		if err := l.reserve(len(tasks)); err != nil {
			return false, err
		}
	}
	n := 0
	if l.config.Latency != nil {
		n = l.pushStamped(to, tasks)
	} else {
		n = to.PushBatch(tasks)
	}
	if n < len(tasks) {
		return false, nil
	}
	l.sleeper.Wake()
	return true, nil
}

// SubmitWait is SubmitTask, but waits for room instead of returning ErrFull.
// Waiters get places in order. It returns the cause of ctx if that ends first,
// ErrClosed if the loop is closed, and ErrReentrant if it would have to wait on
// the loop.
func (l *Loop) SubmitWait(ctx context.Context, t Task) error {
	if t == nil {
		return errSubmitNil
	}
	if l.config.Limit > 0 && !l.room.take(1) {
		if l.onLoop() {
			return fail("SubmitWait", ErrReentrant)
		}
		if err := l.room.wait(ctx, l.shut); err != nil {
			return fail("SubmitWait", err)
		}
	}
	if !l.post(t) {
		l.refused(1)
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
	if l.config.Limit > 0 {
		l.room.give(n)
	}
}

// room counts the waiting tasks of a loop with a limit.
type room struct {
	limit   int64        // constant; 0 means nothing is counted
	used    atomic.Int64 // waiting tasks and granted places; publishes nothing else
	waiting atomic.Int32 // len(waiters), so that give can check it without the mutex
	mu      sync.Mutex
	waiters []chan struct{} // guarded by mu; closed when granted a place, in order
}

// take takes n places if that many are free and nobody waits for one.
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

// give returns n places and serves the waiters.
//
// No place is missed: wait announces itself before it looks for a place, and
// give returns places before it looks for waiters.
func (r *room) give(n int) {
	r.used.Add(int64(-n))
	if r.waiting.Load() != 0 {
		r.mu.Lock()
		r.grant()
		r.mu.Unlock()
	}
}

// grant serves the waiters as far as there is room. The caller holds mu.
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
