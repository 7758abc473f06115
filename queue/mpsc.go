package queue

import (
	"math"
	"reflect"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// DefaultRetain is the Retain of an MPSC whose config sets none.
const DefaultRetain = 16384

// MPSCConfig configures an [MPSC]. The zero value is ready to use.
type MPSCConfig struct {
	// Retain is the number of values for which an empty queue keeps memory, rounded up to
	// whole chunks. Backlogs of up to half of it come and go without allocation. Memory beyond
	// it goes to the garbage collector as the backlog is drained. 0 means [DefaultRetain].
	Retain int
}

// MPSC is an unbounded queue for many producers and one consumer.
//
// Values lie in linked chunks. A push takes a ticket, the position of its
// value, by one atomic addition. The ticket alone decides the order, and its
// highest bit tells whether the queue was closed before. The push then finds
// the chunk of that position, stores the value and marks the slot as ready.
//
// Linearization points: a push takes its place in the order, or is refused, at
// the addition to tail, and becomes visible at the store to ready (for
// PushBatch, that of its first slot, so a batch appears whole and contiguous).
// A pop takes effect at its load of ready, whether it finds a value or not, and
// Close where it sets the bit. Pushes are lock-free: no step waits for another
// goroutine.
//
// Reclamation is safe by construction: a chunk is reused only when all pushes
// that could still refer to it have finished. See [MPSC.advance].
//
// The zero value is not usable and an MPSC must not be copied: use [NewMPSC].
type MPSC[T any] struct {
	// Producers' side.

	tail atomic.Uint64            // the next ticket, below closedBit, which Close sets; all producers add
	hint atomic.Pointer[chunk[T]] // where a search for a ticket's chunk starts; all sides move it forward
	_    cpu.CacheLinePad         // BenchmarkPadding

	// Consumer's side: plain fields, owned by the consumer.

	head     uint64    // the next position to read
	chunk    *chunk[T] // the chunk of head; at its end until the next chunk is linked
	oldest   *chunk[T] // [oldest, chunk) along next are drained but may still be referred to
	last     *chunk[T] // the last chunk known to the consumer
	retain   uint64
	start    uint64 // constant: the first position
	consumer guard

	closing sync.Mutex    // held by Close
	end     atomic.Uint64 // the value of tail at closing; stored under closing beforehand, published by closedBit
}

// closedBit marks the queue as closed, in the word that producers advance.
// Positions do not reach it: 2^63 pushes take centuries.
const closedBit = 1 << 63

// A chunk is a stretch of consecutive positions.
//
// All fields but next are written while no producer can reach the chunk, and
// published by the compare-and-swap of its predecessor's next.
type chunk[T any] struct {
	base  uint64                   // position of slots[0], a multiple of len(slots)
	prev  *chunk[T]                // predecessor; nil once the predecessor is drained
	next  atomic.Pointer[chunk[T]] // successor; set once per use, by whoever links it
	until uint64                   // owned by the consumer; see advance
	slots []slot[T]                // each owned by its ticket's producer until ready, then by the consumer
}

type slot[T any] struct {
	value T
	ready uint32 // publishes value; atomic, except that the consumer clears it plainly while it owns the slot
}

// NewMPSC returns an empty queue.
func NewMPSC[T any](config MPSCConfig) *MPSC[T] {
	if config.Retain < 0 {
		panic("queue: NewMPSC: negative Retain; want the number of values to keep memory for, or 0 for the default")
	}
	if config.Retain == 0 {
		config.Retain = DefaultRetain
	}
	return newMPSC[T](config.Retain, chunkLen(reflect.TypeFor[slot[T]]().Size()), 0)
}

// chunkLen returns how many slots of size bytes make a chunk of about 8 KiB: a
// power of two within [16, 512].
func chunkLen(size uintptr) int {
	n := 512
	for n > 16 && uintptr(n)*size > 8<<10 {
		n /= 2
	}
	return n
}

// newMPSC returns a queue with chunks of n slots, a power of two, whose first
// position is start, a multiple of n.
func newMPSC[T any](retain, n int, start uint64) *MPSC[T] {
	c := &chunk[T]{base: start, slots: make([]slot[T], n)}
	q := &MPSC[T]{head: start, start: start, chunk: c, oldest: c, last: c, retain: uint64(retain)}
	q.tail.Store(start)
	q.hint.Store(c)
	return q
}

// Push appends v and reports true; after Close it reports false. It never
// waits. It allocates when the backlog outgrows the queue's memory.
func (q *MPSC[T]) Push(v T) bool {
	t := q.tail.Add(1) - 1
	if t&closedBit != 0 {
		return false
	}
	step()
	c := q.hint.Load()
	if c == nil {
		notMade("Push", "MPSC")
	}
	i := t - c.base
	if i >= uint64(len(c.slots)) {
		c = q.find(c, t)
		i = t - c.base
	}
	s := &c.slots[i]
	s.value = v
	step()
	atomic.StoreUint32(&s.ready, 1) // the last access: from here on the chunk may be reused
	return true
}

// PushBatch appends the values in order and contiguously, and returns how many
// it appended: all, or none after Close. The consumer sees none of them before
// it can see all.
func (q *MPSC[T]) PushBatch(values []T) int {
	if len(values) == 0 {
		return 0
	}
	t := q.tail.Add(uint64(len(values))) - uint64(len(values))
	if t&closedBit != 0 {
		return 0
	}
	all := len(values)
	step()
	c := q.hint.Load()
	if c == nil {
		notMade("PushBatch", "MPSC")
	}
	if t-c.base >= uint64(len(c.slots)) {
		c = q.find(c, t)
	}
	first := &c.slots[t-c.base]
	first.value = values[0]
	i := t - c.base + 1
	for values = values[1:]; len(values) > 0; {
		if i == uint64(len(c.slots)) {
			c = q.find(c, c.base+i)
			i = 0
		}
		n := copyIn(c.slots[i:], values)
		values = values[n:]
		i += uint64(n)
	}
	step()
	atomic.StoreUint32(&first.ready, 1) // publishes all; the last access
	return all
}

// Close ends pushes: those that have a place finish, later ones are refused. It
// returns how many values were accepted since the queue was made. Any goroutine
// may call it, repeatedly, with the same result.
func (q *MPSC[T]) Close() (accepted uint64) {
	if q.hint.Load() == nil {
		notMade("Close", "MPSC")
	}
	q.closing.Lock()
	defer q.closing.Unlock()
	for {
		t := q.tail.Load()
		if t&closedBit != 0 {
			return q.end.Load() - q.start
		}
		q.end.Store(t)
		step()
		if q.tail.CompareAndSwap(t, t|closedBit) {
			return t - q.start
		}
	}
}

// taken returns how many tickets were given out, not counting refused ones.
func (q *MPSC[T]) taken() uint64 {
	t := q.tail.Load()
	if t&closedBit != 0 {
		return q.end.Load()
	}
	return t
}

// copyIn stores values in slots that a store to an earlier slot will publish.
func copyIn[T any](slots []slot[T], values []T) int {
	n := min(len(slots), len(values))
	slots, values = slots[:n], values[:n]
	for i := range slots {
		slots[i].value = values[i]
		slots[i].ready = 1
	}
	return n
}

// find returns the chunk of the caller's ticket t. The search starts at from,
// which the caller loaded from hint after taking the ticket. find links missing
// chunks.
func (q *MPSC[T]) find(from *chunk[T], t uint64) *chunk[T] {
	c := from
	for int64(t-c.base) < 0 { // holders of later tickets have moved the hint past t
		c = c.prev
	}
	for t-c.base >= uint64(len(c.slots)) {
		step()
		next := c.next.Load()
		if next == nil {
			c.link(&chunk[T]{slots: make([]slot[T], len(c.slots))})
			next = c.next.Load()
		}
		c = next
	}
	if int64(c.base-from.base) > 0 {
		step()
		q.hint.CompareAndSwap(from, c)
	}
	return c
}

// link appends fresh behind the last chunk, which is c or comes after it.
func (c *chunk[T]) link(fresh *chunk[T]) {
	for {
		fresh.base = c.base + uint64(len(c.slots))
		fresh.prev = c
		step()
		if c.next.CompareAndSwap(nil, fresh) {
			return
		}
		c = c.next.Load() // another push linked first; fresh will serve a later one
	}
}

// Pop removes the oldest value. ok is false if there is none, or if its push
// has not finished.
func (q *MPSC[T]) Pop() (v T, ok bool) {
	if invariant.Enabled {
		q.consumer.enter("Pop", "consumer")
		defer q.consumer.leave()
	}
	if q.chunk == nil {
		notMade("Pop", "MPSC")
	}
	i := q.head - q.chunk.base
	if i == uint64(len(q.chunk.slots)) {
		if !q.advance() {
			q.reclaim()
			return v, false
		}
		q.reclaim()
		i = 0
	}
	s := &q.chunk.slots[i]
	if atomic.LoadUint32(&s.ready) == 0 {
		q.reclaim()
		return v, false
	}
	v = s.value
	*s = slot[T]{}
	q.head++
	return v, true
}

// Drain moves up to len(dst) of the oldest values into dst and returns how many
// it moved, 0 where Pop would report false.
func (q *MPSC[T]) Drain(dst []T) int {
	if invariant.Enabled {
		q.consumer.enter("Drain", "consumer")
		defer q.consumer.leave()
	}
	if q.chunk == nil {
		notMade("Drain", "MPSC")
	}
	n := 0
	for n < len(dst) {
		i := q.head - q.chunk.base
		if i == uint64(len(q.chunk.slots)) {
			if !q.advance() {
				break
			}
			i = 0
		}
		slots := q.chunk.slots[i:]
		moved := moveOut(dst[n:], slots)
		n += moved
		q.head += uint64(moved)
		if moved < len(slots) {
			break
		}
	}
	if q.oldest != q.chunk {
		q.reclaim()
	}
	return n
}

// moveOut moves the values of the ready slots at the front to dst.
func moveOut[T any](dst []T, slots []slot[T]) int {
	n := min(len(dst), len(slots))
	dst, slots = dst[:n], slots[:n]
	for i := range slots {
		s := &slots[i]
		if atomic.LoadUint32(&s.ready) == 0 {
			return i
		}
		dst[i] = s.value
		*s = slot[T]{}
	}
	return n
}

// Len returns how many values are in the queue, including those of unfinished
// pushes: once the queue is closed, 0 means that nothing more will come. Like
// Pop it is for the consumer only.
func (q *MPSC[T]) Len() int {
	return int(min(q.taken()-q.head, math.MaxInt))
}

// Pushed returns how many values were accepted since the queue was made. Any
// goroutine may call it.
func (q *MPSC[T]) Pushed() uint64 { return q.taken() - q.start }

// advance moves the consumer from its drained chunk to the next, if there is one.
//
// The chunk stays linked and untouched until head reaches until, which makes
// its reuse safe. A push with a ticket at or above until took it after the
// chunk had become unreachable from the hint, so it never sees the chunk. A
// push with an earlier ticket may see it, but head has passed its slot by then,
// so it has marked the slot ready, which is its last access.
func (q *MPSC[T]) advance() bool {
	c := q.chunk
	next := c.next.Load()
	if next == nil {
		return false
	}
	next.prev = nil // only pushes into c or earlier chunks follow prev, and all of them have finished
	step()
	q.hint.CompareAndSwap(c, next)
	step()
	c.until = q.taken()
	q.chunk = next
	return true
}

// reclaim links the drained chunks that no push refers to behind the last chunk
// for reuse, and drops those that exceed the retention.
func (q *MPSC[T]) reclaim() {
	for q.oldest != q.chunk && int64(q.head-q.oldest.until) >= 0 {
		c := q.oldest
		q.oldest = c.next.Load()
		if int64(q.last.base-q.chunk.base) < 0 {
			q.last = q.chunk
		}
		for next := q.last.next.Load(); next != nil; next = q.last.next.Load() {
			q.last = next
		}
		step()
		if int64(q.last.base-q.taken()) < int64(q.retain) {
			c.next.Store(nil)
			q.last.link(c)
			q.last = c
		}
	}
}
