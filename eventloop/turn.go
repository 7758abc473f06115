package eventloop

import (
	"runtime/debug"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// turns runs the loop until it should stop. Work that a panic interrupted is in
// the loop's fields and continues with the next call.
func (l *Loop) turns() {
	l.checkpoint()
	for !l.stopped() {
		l.turnCount++
		l.publish()
		if l.timers.live.Load() != 0 {
			l.runTimers()
		}
		if p := l.io.poller.Load(); p != nil {
			l.runIO(p)
		}
		if l.next == l.filled && !l.fill() {
			if l.drowse() {
				l.sleeper.Wait() // here and not in drowse: every return after a goroutine switch is mispredicted
				l.asked = false
			}
			continue
		}
		l.runBatch()
	}
}

// stopped reports whether Run should return.
func (l *Loop) stopped() bool {
	s := l.signals.Load()
	return s != 0 && (s&stopRun != 0 || l.finished(s))
}

// cutShort reports whether Run should return with work left.
func (l *Loop) cutShort() bool { return l.signals.Load()&(stopRun|dropAll) != 0 }

// finished reports whether the loop should end for good: it was closed, and
// told to drop the rest or has nothing left.
func (l *Loop) finished(signals uint32) bool {
	return signals&dropAll != 0 ||
		signals&drainAll != 0 && l.ran == l.accepted && l.ticks.len() == 0 && l.micro.len() == 0
}

// fill moves tasks from the ingress and the lanes to the empty batch.
func (l *Loop) fill() bool {
	n := 0
	if s := l.lanes.Load(); s != nil {
		n = l.gather(s)
	} else {
		n = l.in.Drain(l.batch[:])
	}
	l.next, l.filled = 0, n
	return n > 0
}

// runBatch runs the tasks of the batch, each with what it queues.
func (l *Loop) runBatch() {
	for l.next < l.filled {
		t := l.batch[l.next]
		l.batch[l.next] = nil
		l.next++
		l.ran++
		if l.config.Limit > 0 {
			l.room.give(1)
		}
		t.Run()
		l.after()
		if l.cutShort() {
			return
		}
	}
}

// runTimers runs the timers that are due now; timers set meanwhile wait for the
// next turn.
func (l *Loop) runTimers() {
	now := l.now()
	before := l.timers.mark()
	for {
		run, lag := l.timers.due(now, before)
		if run == nil {
			return
		}
		l.public.lag.Store(lag)
		if lag > l.public.maxLag.Load() {
			l.public.maxLag.Store(lag)
		}
		run()
		l.after()
		if l.cutShort() {
			return
		}
	}
}

// after runs the next-tick queue, then the microtasks, after a task.
func (l *Loop) after() {
	if l.ticks.len()+l.micro.len()+len(l.unhandled) != 0 {
		l.checkpoint()
	}
}

// checkpoint runs next-tick functions until none is left, then microtasks until
// none is left, and starts again if those queued next-tick functions. Then it
// reports rejections that nobody handled, as Node.js does.
func (l *Loop) checkpoint() {
	for l.ticks.len()+l.micro.len()+len(l.unhandled) != 0 {
		for l.ticks.len() != 0 {
			if l.cutShort() {
				return
			}
			l.ticks.pop()()
		}
		for l.micro.len() != 0 {
			if l.cutShort() {
				return
			}
			l.micro.pop()()
		}
		if l.ticks.len() == 0 {
			l.tellUnhandled()
		}
	}
}

// NextTick queues f to run after the current task, before its microtasks. It
// belongs to the loop. It panics if f is nil.
func (l *Loop) NextTick(f func()) {
	l.mustOwn("NextTick")
	if f == nil {
		panic(fail("NextTick", ErrNilTask))
	}
	l.ticks.push(f)
}

// QueueMicrotask queues f to run after the current task and the next-tick
// queue. It belongs to the loop. It panics if f is nil.
func (l *Loop) QueueMicrotask(f func()) {
	l.mustOwn("QueueMicrotask")
	if f == nil {
		panic(fail("QueueMicrotask", ErrNilTask))
	}
	l.micro.push(f)
}

// mustOwn panics in debug builds if another goroutine runs the loop.
func (l *Loop) mustOwn(operation string) {
	if invariant.Enabled {
		if r := l.runner.Load(); r != 0 && r != goroutine() {
			panic("eventloop: " + operation + ": called off the loop; call it from a task, or hand it over with Submit")
		}
	}
}

// report passes a panic to Config.OnPanic. Nil means Goexit.
func (l *Loop) report(value any) {
	if value == nil {
		value = fail("task", ErrGoexit)
	}
	l.public.panics.Add(1)
	stack := debug.Stack()
	defer func() { _ = recover() }() // the panic has already been passed to the hook
	l.config.OnPanic(value, stack)
}

// A fifo is a queue of functions.
type fifo struct {
	buf  []func()
	head int // buf[head:] is in the queue
}

const fifoKeep = 4096 // capacity that an empty fifo keeps

func (q *fifo) len() int      { return len(q.buf) - q.head }
func (q *fifo) push(f func()) { q.buf = append(q.buf, f) }

func (q *fifo) pop() func() {
	f := q.buf[q.head]
	q.buf[q.head] = nil
	q.head++
	switch {
	case q.head == len(q.buf) && cap(q.buf) > fifoKeep:
		q.buf, q.head = nil, 0
	case q.head == len(q.buf):
		q.buf, q.head = q.buf[:0], 0
	case q.head >= 1024 && q.head*2 >= len(q.buf): // each function is moved at most once on average
		n := copy(q.buf, q.buf[q.head:])
		clear(q.buf[n:])
		q.buf, q.head = q.buf[:n], 0
	}
	return f
}
