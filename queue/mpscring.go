package queue

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// MPSCRing is a bounded queue for many producers and one consumer.
//
// A push takes the next position by a compare-and-swap of tail, unless the
// ring is full, stores the value and marks the slot as ready. The consumer
// takes ready slots in order, clears them, and releases them by storing head:
// once per Pop, once per Drain.
//
// Linearization points: a push takes its place at the compare-and-swap of tail
// and becomes visible at the store to ready (for PushBatch, that of its first
// slot). A push into a full ring takes effect at its load of head, when Cap
// positions were taken and not released. For the producers, a pop removes its
// value at the store to head; a pop that finds nothing takes effect at its load
// of ready. A push fails to take a position only because another push took it.
//
// The zero value is not usable and an MPSCRing must not be copied: use
// [NewMPSCRing].
type MPSCRing[T any] struct {
	slots    []slot[T] // each owned by its position's producer until ready, then by the consumer until head passes it
	capacity uint64
	_        cpu.CacheLinePad // BenchmarkPadding

	// Producers' side.

	tail  atomic.Uint64 // the next position; producers advance it
	limit atomic.Uint64 // an earlier value of head+capacity: positions below it are known to be free
	_     cpu.CacheLinePad

	// Consumer's side. Positions in [head, tail) are taken.

	head     atomic.Uint64 // the next position to read; the store releases the slots before it
	consumer guard
}

// NewMPSCRing returns an empty ring that holds exactly capacity values, 1 to
// 2^30. It panics if capacity is out of range.
func NewMPSCRing[T any](capacity int) *MPSCRing[T] {
	return newMPSCRing[T](capacity, 0)
}

// newMPSCRing returns a ring whose first position is start.
func newMPSCRing[T any](capacity int, start uint64) *MPSCRing[T] {
	r := &MPSCRing[T]{slots: make([]slot[T], slotsFor("NewMPSCRing", capacity)), capacity: uint64(capacity)}
	r.tail.Store(start)
	r.head.Store(start)
	r.limit.Store(start + r.capacity)
	return r
}

// take takes up to n consecutive positions and returns the first one and their
// number.
func (r *MPSCRing[T]) take(n uint64) (pos, taken uint64) {
	for {
		pos = r.tail.Load()
		step()
		free := int64(r.limit.Load() - pos)
		if free < int64(n) {
			step()
			limit := r.head.Load() + r.capacity
			free = int64(limit - pos)
			if free <= 0 {
				if r.capacity == 0 {
					notMade("Push", "MPSCRing")
				}
				return 0, 0
			}
			step()
			r.limit.Store(limit)
		}
		taken = min(n, uint64(free))
		step()
		if r.tail.CompareAndSwap(pos, pos+taken) {
			return pos, taken
		}
	}
}

// Push appends v and reports whether there was room.
func (r *MPSCRing[T]) Push(v T) bool {
	pos, taken := r.take(1)
	if taken == 0 {
		return false
	}
	s := &r.slots[pos&uint64(len(r.slots)-1)]
	s.value = v
	step()
	atomic.StoreUint32(&s.ready, 1)
	return true
}

// PushBatch appends as many of the values as fit, in order and contiguously,
// and returns how many it appended. The consumer sees none of them before it
// can see all.
func (r *MPSCRing[T]) PushBatch(values []T) int {
	pos, taken := r.take(uint64(len(values)))
	if taken == 0 {
		return 0
	}
	i := pos & uint64(len(r.slots)-1)
	first := &r.slots[i]
	first.value = values[0]
	n := copyIn(r.slots[i+1:], values[1:taken])
	copyIn(r.slots, values[1+n:taken])
	step()
	atomic.StoreUint32(&first.ready, 1)
	return int(taken)
}

// Pop removes the oldest value. ok is false if there is none, or if its push
// has not finished.
func (r *MPSCRing[T]) Pop() (v T, ok bool) {
	if invariant.Enabled {
		r.consumer.enter("Pop", "consumer")
		defer r.consumer.leave()
	}
	if len(r.slots) == 0 {
		notMade("Pop", "MPSCRing")
	}
	head := r.head.Load()
	s := &r.slots[head&uint64(len(r.slots)-1)]
	if atomic.LoadUint32(&s.ready) == 0 {
		return v, false
	}
	v = s.value
	*s = slot[T]{}
	step()
	r.head.Store(head + 1)
	return v, true
}

// Drain moves up to len(dst) of the oldest values into dst and returns how many
// it moved, 0 where Pop would report false.
func (r *MPSCRing[T]) Drain(dst []T) int {
	if invariant.Enabled {
		r.consumer.enter("Drain", "consumer")
		defer r.consumer.leave()
	}
	if len(r.slots) == 0 {
		notMade("Drain", "MPSCRing")
	}
	head := r.head.Load()
	i := head & uint64(len(r.slots)-1)
	n := moveOut(dst, r.slots[i:])
	if n == len(r.slots[i:]) {
		n += moveOut(dst[n:], r.slots[:i])
	}
	if n > 0 {
		step()
		r.head.Store(head + uint64(n))
	}
	return n
}

// Len returns how many positions are taken: the values in the ring, including
// those of unfinished pushes. It is for the consumer only; for any other
// goroutine the answer is out of date.
func (r *MPSCRing[T]) Len() int {
	head := r.head.Load()
	return int(r.tail.Load() - head)
}

// Cap returns the capacity.
func (r *MPSCRing[T]) Cap() int { return int(r.capacity) }
