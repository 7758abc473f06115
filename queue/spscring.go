package queue

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// SPSCRing is a bounded queue for one producer and one consumer.
//
// The producer fills slots and hands them over by storing tail; the consumer
// empties them and returns them by storing head. Each side keeps the last value
// it saw of the other's index and looks again only when that leaves it nothing
// to do. No operation waits or retries.
//
// Linearization points: a push takes effect at its store to tail (for
// PushBatch, all values at once), or at its load of head if the ring is full; a
// pop at its store to head, or at its load of tail if it finds nothing.
//
// The zero value is not usable and an SPSCRing must not be copied: use
// [NewSPSCRing].
type SPSCRing[T any] struct {
	slots    []T // the consumer owns the slots of positions [head, tail), the producer the others
	capacity uint64
	_        cpu.CacheLinePad // BenchmarkPadding

	// Producer's side.

	tail     atomic.Uint64 // the next position to fill; the store publishes the slots before it
	headSeen uint64        // a value of head; owned by the producer
	producer guard
	_        cpu.CacheLinePad

	// Consumer's side.

	head     atomic.Uint64 // the next position to empty; the store releases the slots before it
	tailSeen uint64        // a value of tail; owned by the consumer
	consumer guard
}

// NewSPSCRing returns an empty ring that holds exactly capacity values, 1 to
// 2^30. It panics if capacity is out of range.
func NewSPSCRing[T any](capacity int) *SPSCRing[T] {
	return newSPSCRing[T](capacity, 0)
}

// newSPSCRing returns a ring whose first position is start.
func newSPSCRing[T any](capacity int, start uint64) *SPSCRing[T] {
	r := &SPSCRing[T]{slots: make([]T, slotsFor("NewSPSCRing", capacity)), capacity: uint64(capacity), headSeen: start,
		tailSeen: start}
	r.tail.Store(start)
	r.head.Store(start)
	return r
}

// Push appends v and reports whether there was room.
func (r *SPSCRing[T]) Push(v T) bool {
	if invariant.Enabled {
		r.producer.enter("Push", "producer")
		defer r.producer.leave()
	}
	tail := r.tail.Load()
	if tail-r.headSeen == r.capacity {
		r.headSeen = r.head.Load()
		if tail-r.headSeen == r.capacity {
			if r.capacity == 0 {
				notMade("Push", "SPSCRing")
			}
			return false
		}
	}
	r.slots[tail&uint64(len(r.slots)-1)] = v
	step()
	r.tail.Store(tail + 1)
	return true
}

// PushBatch appends as many of the values as fit, in order, and returns how
// many it appended. The consumer sees all of them at once.
func (r *SPSCRing[T]) PushBatch(values []T) int {
	if invariant.Enabled {
		r.producer.enter("PushBatch", "producer")
		defer r.producer.leave()
	}
	tail := r.tail.Load()
	if r.capacity-(tail-r.headSeen) < uint64(len(values)) {
		r.headSeen = r.head.Load()
		free := r.capacity - (tail - r.headSeen)
		values = values[:min(uint64(len(values)), free)]
	}
	if len(values) == 0 {
		if r.capacity == 0 {
			notMade("PushBatch", "SPSCRing")
		}
		return 0
	}
	n := copy(r.slots[tail&uint64(len(r.slots)-1):], values)
	copy(r.slots, values[n:])
	step()
	r.tail.Store(tail + uint64(len(values)))
	return len(values)
}

// Pop removes the oldest value. ok is false if there is none.
func (r *SPSCRing[T]) Pop() (v T, ok bool) {
	if invariant.Enabled {
		r.consumer.enter("Pop", "consumer")
		defer r.consumer.leave()
	}
	head := r.head.Load()
	if head == r.tailSeen {
		r.tailSeen = r.tail.Load()
		if head == r.tailSeen {
			if r.capacity == 0 {
				notMade("Pop", "SPSCRing")
			}
			return v, false
		}
	}
	s := &r.slots[head&uint64(len(r.slots)-1)]
	var zero T
	v, *s = *s, zero
	step()
	r.head.Store(head + 1)
	return v, true
}

// Drain moves up to len(dst) of the oldest values into dst and returns how many
// it moved.
func (r *SPSCRing[T]) Drain(dst []T) int {
	if invariant.Enabled {
		r.consumer.enter("Drain", "consumer")
		defer r.consumer.leave()
	}
	head := r.head.Load()
	if r.tailSeen-head < uint64(len(dst)) {
		r.tailSeen = r.tail.Load()
		dst = dst[:min(uint64(len(dst)), r.tailSeen-head)]
	}
	if len(dst) == 0 {
		if r.capacity == 0 {
			notMade("Drain", "SPSCRing")
		}
		return 0
	}
	front := r.slots[head&uint64(len(r.slots)-1):]
	n := copy(dst, front)
	clear(front[:n])
	clear(r.slots[:copy(dst[n:], r.slots)])
	step()
	r.head.Store(head + uint64(len(dst)))
	return len(dst)
}

// Len returns how many values are in the ring. It is for the producer and the
// consumer; for any other goroutine the answer is out of date.
func (r *SPSCRing[T]) Len() int {
	head := r.head.Load()
	return int(r.tail.Load() - head)
}

// Cap returns the capacity.
func (r *SPSCRing[T]) Cap() int { return int(r.capacity) }
