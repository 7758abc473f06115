package queue

import (
	"reflect"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// SPSC is an unbounded queue for one producer and one consumer.
//
// Values lie in linked chunks. The producer fills a slot and hands it over by
// moving tail forward, with a compare-and-swap that fails only if the queue has
// been closed. The same step thus decides the order and whether the value is
// accepted. The consumer looks at tail when it has emptied every slot it knows
// of, and returns empty chunks through a ring.
//
// Linearization points: a push takes effect at its compare-and-swap of tail
// (for PushBatch, all values at once), Close where it sets the highest bit of
// tail, and a pop that finds nothing at its load of tail. No operation waits or
// retries.
//
// The zero value is not usable and an SPSC must not be copied: use [NewSPSC].
type SPSC[T any] struct {
	// Producer's side.

	tail     atomic.Uint64 // values pushed, and closedBit; publishes their slots and the links to their chunks
	pushed   uint64        // tail without closedBit; owned by the producer, as are the fields below
	filling  []T           // the slots of the last chunk
	at       int           // filling[at:] are free
	last     *stretch[T]
	producer guard
	_        cpu.CacheLinePad // BenchmarkPadding

	// Consumer's side.

	head     uint64 // how many values were popped; owned by the consumer, as are the fields below
	seen     uint64 // a value of tail, without closedBit
	first    *stretch[T]
	from     int // first.slots[:from] are empty
	consumer guard
	_        cpu.CacheLinePad

	free *SPSCRing[*stretch[T]] // empty chunks, from the consumer back to the producer
}

// A stretch is a chunk. The consumer owns the slots that tail has passed, the
// producer the others.
type stretch[T any] struct {
	slots []T
	next  *stretch[T] // set by the producer; published by tail together with the first slot of next
}

// NewSPSC returns an empty queue. Retain is the approximate number of values for which an empty
// queue keeps memory; 0 means [DefaultRetain]. Backlogs up to that come and go without allocation.
func NewSPSC[T any](retain int) *SPSC[T] {
	if retain < 0 {
		panic("queue: NewSPSC: negative retain; want the number of values to keep memory for, or 0 for the default")
	}
	if retain == 0 {
		retain = DefaultRetain
	}
	return newSPSC[T](retain, chunkLen(reflect.TypeFor[T]().Size()))
}

// newSPSC returns a queue with chunks of n slots.
func newSPSC[T any](retain, n int) *SPSC[T] {
	c := &stretch[T]{slots: make([]T, n)}
	spare := min(max(1, (retain+n-1)/n), maxCapacity)
	return &SPSC[T]{filling: c.slots, last: c, first: c, free: NewSPSCRing[*stretch[T]](spare)}
}

// Push appends v and reports true; after Close it reports false. It never
// waits. It allocates when the backlog outgrows the queue's memory.
func (q *SPSC[T]) Push(v T) bool {
	if invariant.Enabled {
		q.producer.enter("Push", "producer")
		defer q.producer.leave()
	}
	if q.at == len(q.filling) {
		q.extend("Push")
	}
	s := &q.filling[q.at]
	*s = v
	step()
	if !q.tail.CompareAndSwap(q.pushed, q.pushed+1) {
		var zero T
		*s = zero
		return false
	}
	q.pushed++
	q.at++
	return true
}

// PushBatch appends the values in order and returns how many it appended: all,
// or none after Close. The consumer sees all of them at once.
func (q *SPSC[T]) PushBatch(values []T) int {
	if invariant.Enabled {
		q.producer.enter("PushBatch", "producer")
		defer q.producer.leave()
	}
	all, c, at := len(values), q.last, q.at
	if all == 0 || q.tail.Load()&closedBit != 0 {
		return 0
	}
	for len(values) > 0 {
		if q.at == len(q.filling) {
			q.extend("PushBatch")
		}
		n := copy(q.filling[q.at:], values)
		values = values[n:]
		q.at += n
	}
	step()
	if !q.tail.CompareAndSwap(q.pushed, q.pushed+uint64(all)) {
		for ; c != nil; c, at = c.next, 0 { // closed meanwhile: the consumer will not come here
			clear(c.slots[at:])
		}
		return 0
	}
	q.pushed += uint64(all)
	return all
}

// extend appends a chunk.
func (q *SPSC[T]) extend(operation string) {
	if q.free == nil {
		notMade(operation, "SPSC")
	}
	c, ok := q.free.Pop()
	if !ok {
		c = &stretch[T]{slots: make([]T, len(q.filling))}
	}
	q.last.next = c
	q.last, q.filling, q.at = c, c.slots, 0
}

// Close ends pushes and returns how many values were accepted since the queue
// was made. Any goroutine may call it, repeatedly, with the same result.
func (q *SPSC[T]) Close() (accepted uint64) {
	if q.free == nil {
		notMade("Close", "SPSC")
	}
	return q.tail.Or(closedBit) &^ closedBit
}

// Pop removes the oldest value. ok is false if there is none.
func (q *SPSC[T]) Pop() (v T, ok bool) {
	if invariant.Enabled {
		q.consumer.enter("Pop", "consumer")
		defer q.consumer.leave()
	}
	if q.head == q.seen && !q.look("Pop") {
		return v, false
	}
	if q.from == len(q.first.slots) {
		q.advance()
	}
	var zero T
	s := &q.first.slots[q.from]
	v, *s = *s, zero
	q.from++
	q.head++
	return v, true
}

// look updates how many values the consumer may take, and reports whether there are any.
func (q *SPSC[T]) look(operation string) bool {
	if q.first == nil {
		notMade(operation, "SPSC")
	}
	q.seen = q.tail.Load() &^ closedBit
	return q.seen != q.head
}

// Drain moves up to len(dst) of the oldest values into dst and returns how many
// it moved.
func (q *SPSC[T]) Drain(dst []T) int {
	if invariant.Enabled {
		q.consumer.enter("Drain", "consumer")
		defer q.consumer.leave()
	}
	if q.seen-q.head < uint64(len(dst)) {
		q.look("Drain")
		dst = dst[:min(uint64(len(dst)), q.seen-q.head)]
	}
	for n := 0; n < len(dst); {
		if q.from == len(q.first.slots) {
			q.advance()
		}
		full := q.first.slots[q.from:]
		moved := copy(dst[n:], full)
		clear(full[:moved])
		n += moved
		q.from += moved
	}
	q.head += uint64(len(dst))
	return len(dst)
}

// advance moves the consumer to the next chunk, which exists because it holds a
// value, and returns the empty one. A chunk that does not fit into the ring
// exceeds the retention and goes to the garbage collector.
func (q *SPSC[T]) advance() {
	c := q.first
	q.first, q.from = c.next, 0
	c.next = nil
	step()
	q.free.Push(c)
}

// Len returns how many values are in the queue: once the queue is closed, 0
// means that nothing more will come. It is for the consumer only.
func (q *SPSC[T]) Len() int { return int(q.tail.Load()&^closedBit - q.head) }

// Pushed returns how many values were accepted since the queue was made. Any
// goroutine may call it.
func (q *SPSC[T]) Pushed() uint64 { return q.tail.Load() &^ closedBit }
