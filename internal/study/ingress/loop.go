package ingress

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// A fifo passes values from many goroutines to one. It loses none and keeps each producer's order.
type fifo[V any] interface {
	push(producer int, v V)       // called by the producer's goroutine
	pushAll(producer int, vs []V) // called by the producer's goroutine; does not keep vs
	drain(dst []V) int            // called by the loop; 0 if none is available yet
}

// batchLen is the maximum number of tasks that the loop takes at once.
const batchLen = 256

// options are the differences between loops, apart from the queue.
type options struct {
	single bool   // take one task at a time
	eager  bool   // send a signal with every submission, even if the loop is awake
	locked bool   // keep the loop on one thread
	signal signal // nil means a token
}

// A signal wakes the loop. Several signals sent before a wait count as one.
type signal interface {
	send()
	wait() // called by the loop
	close()
}

// token is a signal through the Go scheduler.
type token chan struct{}

func newToken() token { return make(token, 1) }

func (t token) send() {
	select {
	case t <- struct{}{}:
	default:
	}
}

func (t token) wait()  { <-t }
func (t token) close() {}

// A queued is a loop with a queue. Submission and the loop are the same for every queue.
type queued struct {
	queue  fifo[Task]
	signal signal
	eager  bool
	done   chan struct{} // closed when the loop has ended

	_ cpu.CacheLinePad
	// 1 means that the loop sleeps, or is about to, and needs a signal; cleared by whoever
	// sends it, or by the loop
	parked  atomic.Uint32
	closing atomic.Bool // publishes that all submissions are made
	_       cpu.CacheLinePad

	batch []Task // owned by the loop
}

func start(q fifo[Task], o options) *queued {
	l := &queued{queue: q, signal: o.signal, eager: o.eager, done: make(chan struct{}), batch: make([]Task, batchLen)}
	if o.single {
		l.batch = l.batch[:1]
	}
	if l.signal == nil {
		l.signal = newToken()
	}
	go l.run(o.locked)
	return l
}

func (l *queued) Submit(producer int, t Task) {
	l.queue.push(producer, t)
	if l.eager || l.parked.Load() != 0 {
		l.wake()
	}
}

func (l *queued) SubmitBatch(producer int, ts []Task) {
	l.queue.pushAll(producer, ts)
	if l.eager || l.parked.Load() != 0 {
		l.wake()
	}
}

func (l *queued) wake() {
	if l.eager || l.parked.CompareAndSwap(1, 0) {
		l.signal.send()
	}
}

func (l *queued) Close() error {
	l.closing.Store(true)
	l.wake()
	<-l.done
	l.signal.close()
	return nil
}

func (l *queued) run(locked bool) {
	if locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	defer close(l.done)
	for {
		if l.turn() {
			continue
		}
		if l.closing.Load() {
			if !l.turn() { // closing was loaded first, so the queue holds everything
				return
			}
			continue
		}
		l.sleep()
	}
}

// turn runs a batch and reports whether there was one.
func (l *queued) turn() bool {
	n := l.queue.drain(l.batch)
	for i, t := range l.batch[:n] {
		l.batch[i] = nil
		t()
	}
	return n > 0
}

// sleep waits for a signal unless there is work. A producer stores its task and then checks
// parked; the loop stores parked and then checks for tasks, so one of them sees the other.
// Eager signals need no such protocol.
func (l *queued) sleep() {
	if !l.eager {
		l.parked.Store(1)
		if l.turn() || l.closing.Load() {
			if !l.parked.CompareAndSwap(1, 0) {
				l.signal.wait() // the signal is on its way
			}
			return
		}
	}
	l.signal.wait()
}
