package queue

import (
	"sync/atomic"
	"testing"
)

// Each queue in this file is wrong in a way that has been seen in the wild.
// They show that the checker finds such faults.

// indexFirst publishes the index before the slot.
type indexFirst struct {
	slots [64]atomic.Uint64
	tail  atomic.Uint64
	head  uint64
	pause func()
}

func (q *indexFirst) Push(v uint64) bool {
	t := q.tail.Add(1) - 1
	q.pause()
	q.slots[t%64].Store(v)
	return true
}

func (q *indexFirst) Pop() (uint64, bool) {
	if q.head == q.tail.Load() {
		return 0, false
	}
	v := q.slots[q.head%64].Swap(0)
	q.head++
	return v, true
}

// overwriting takes positions in a ring without checking that they are free.
type overwriting struct {
	values [4]atomic.Uint64
	ready  [4]atomic.Bool
	tail   atomic.Uint64
	head   uint64
}

func (q *overwriting) Push(v uint64) bool {
	i := (q.tail.Add(1) - 1) % 4
	q.values[i].Store(v)
	q.ready[i].Store(true)
	return true
}

func (q *overwriting) Pop() (uint64, bool) {
	i := q.head % 4
	if !q.ready[i].Swap(false) {
		return 0, false
	}
	q.head++
	return q.values[i].Load(), true
}

// recycling is a list of one-slot chunks that reuses a chunk as soon as it is
// drained, while pushes that loaded it as the tail are still in progress.
type recycling struct {
	head  *recycled
	tail  atomic.Pointer[recycled]
	free  []*recycled // the scheduler runs one thread at a time
	pause func()
}

type recycled struct {
	next  atomic.Pointer[recycled]
	value uint64
}

func (q *recycling) Push(v uint64) bool {
	n := new(recycled)
	if len(q.free) > 0 {
		n, q.free = q.free[0], q.free[1:]
	}
	n.value = v
	n.next.Store(nil)
	for {
		t := q.tail.Load()
		q.pause()
		if t.next.CompareAndSwap(nil, n) { // t may have been reused by now
			q.pause()
			q.tail.CompareAndSwap(t, n)
			return true
		}
		q.pause()
		q.tail.CompareAndSwap(t, t.next.Load())
	}
}

func (q *recycling) Pop() (uint64, bool) {
	next := q.head.next.Load()
	if next == nil {
		return 0, false
	}
	q.tail.CompareAndSwap(q.head, next)
	q.free = append(q.free, q.head)
	q.head = next
	return next.value, true
}

// checkFirst checks whether it is closed and then takes a place, in two steps.
type checkFirst struct {
	*MPSC[uint64]
	closed atomic.Bool
	pause  func()
}

func (q *checkFirst) Push(v uint64) bool {
	if q.closed.Load() {
		return false
	}
	q.pause()
	return q.MPSC.Push(v)
}

func (q *checkFirst) PushBatch(values []uint64) int {
	if q.closed.Load() {
		return 0
	}
	q.pause()
	return q.MPSC.PushBatch(values)
}

func (q *checkFirst) Close() uint64 {
	q.closed.Store(true)
	return q.Pushed()
}

// single adds the remaining methods to a type with Push and Pop.
type single struct {
	pushPop
}

type pushPop interface {
	Push(uint64) bool
	Pop() (uint64, bool)
}

func (s single) PushBatch(values []uint64) int {
	for _, v := range values {
		s.Push(v)
	}
	return len(values)
}

func (s single) Drain(dst []uint64) int {
	for i := range dst {
		v, ok := s.Pop()
		if !ok {
			return i
		}
		dst[i] = v
	}
	return len(dst)
}

func (s single) Len() int { return 0 }

func TestCheckerFindsFaults(t *testing.T) {
	pause := func() { yield() }
	for _, v := range []variant{
		{name: "index before slot", make: func() fifo { return single{&indexFirst{pause: pause}} }},
		{name: "overwriting ring", make: func() fifo { return single{&overwriting{}} }},
		{name: "chunk recycled at once", make: func() fifo {
			first := new(recycled)
			q := &recycling{head: first, pause: pause}
			q.tail.Store(first)
			return single{q}
		}},
		{name: "closed checked before the ticket", make: func() fifo {
			return &checkFirst{MPSC: newMPSC[uint64](4, 2, 0), pause: pause}
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			for seed := range uint64(5000) {
				e := v.episode(seed)
				e.limit = 5000
				history, ended := e.run()
				if !ended || !linearizable(v, history) {
					return
				}
			}
			t.Error("none of 5000 schedules shows the fault")
		})
	}
}
