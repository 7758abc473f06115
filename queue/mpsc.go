package queue

import (
	"math"
	"reflect"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// DefaultRetain is the retention of an MPSC whose config gives none.
const DefaultRetain = 16384

// MPSCConfig configures an [MPSC]. The zero value is ready to use.
type MPSCConfig struct {
	// Retain is how many values the memory that stays with an empty queue
	// can hold, rounded up to whole chunks. Backlogs up to half of it come and go
	// without allocation; memory beyond it goes to the garbage collector
	// as the backlog is drained. 0 means [DefaultRetain].
	Retain int
}

// MPSC is an unbounded queue for many producers and one consumer.
//
// Values lie in chunks, linked in order. A push takes a ticket, the position
// of its value, by one atomic addition; the ticket alone decides the order, and
// its highest bit whether the queue was closed before. Then the push finds the
// chunk of that position, stores the value and marks the slot as ready.
//
// Linearization points: a push takes its place in the order, or is refused, at
// the addition to tail and becomes visible at the store to ready (PushBatch: of
// its first slot, so that a batch appears whole and in one piece). A pop takes
// effect at its load of ready, whether it finds a value or not, and Close where
// it sets the bit. Pushes are lock-free: no step waits for another goroutine.
//
// Reclamation is safe by construction: a chunk is linked anew only when all
// pushes that could still refer to it have finished. See [MPSC.advance].
//
// The zero value is not usable and an MPSC must not be copied: use [NewMPSC].
type MPSC[T any] struct {
	// Producers' side.

	tail atomic.Uint64            // the next ticket, below closedBit, which Close sets; all producers add
	hint atomic.Pointer[chunk[T]] // where the search for a ticket's chunk begins; moves forward, by producers and by the consumer
	_    cpu.CacheLinePad         // BenchmarkPadding

	// Consumer's side: plain fields, owned by the consumer.

	head     uint64    // the next position to read
	chunk    *chunk[T] // the chunk of head; at its end until the next chunk is linked
	oldest   *chunk[T] // [oldest, chunk) along next are drained, and may still be referred to
	last     *chunk[T] // the last chunk, as far as the consumer knows
	retain   uint64
	start    uint64 // constant: the first position
	consumer guard

	closing sync.Mutex    // held by Close
	end     atomic.Uint64 // what tail was when it was closed; stored under closing before that, published by closedBit
}

// closedBit says in the word that producers advance that the queue is closed.
// Positions do not reach it: 2^63 pushes take centuries.
const closedBit = 1 << 63

// A chunk is a stretch of consecutive positions.
//
// Its fields other than next are written while no producer can reach it and
// published by the compare-and-swap of its predecessor's next.
type chunk[T any] struct {
	base  uint64                   // position of slots[0], a multiple of len(slots)
	prev  *chunk[T]                // predecessor; nil once that is drained
	next  atomic.Pointer[chunk[T]] // successor; set once per use, by whoever links it
	until uint64                   // owned by the consumer: see advance
	slots []slot[T]                // each owned by its ticket's producer until ready, then by the consumer
}

type slot[T any] struct {
	value T
	ready uint32 // publishes value; atomic, but cleared plainly by the consumer, its owner then
}

// NewMPSC returns an empty queue.
func NewMPSC[T any](config MPSCConfig) *MPSC[T] {
	if config.Retain < 0 {
		panic("queue: NewMPSC: negative Retain; want how many values to keep memory for, or 0 for the default")
	}
	if config.Retain == 0 {
		config.Retain = DefaultRetain
	}
	return newMPSC[T](config.Retain, chunkLen(reflect.TypeFor[slot[T]]().Size()), 0)
}

// chunkLen returns how many slots of size bytes make a chunk: about 8 KiB,
// within [16, 512], a power of two.
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
// waits; it allocates when the backlog has outgrown the memory that the queue has.
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

// PushBatch appends the values in order, with nothing in between them, and
// returns how many those were: all, or none after Close. The consumer sees
// none of them before it can see all.
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

// Close ends pushes: those that have their place by now are finished, later
// ones are refused. It returns how many values were accepted since the queue
// was made. It may be called by any goroutine, and again, with the same result.
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

// taken returns how many tickets were given out, refused ones excepted.
func (q *MPSC[T]) taken() uint64 {
	t := q.tail.Load()
	if t&closedBit != 0 {
		return q.end.Load()
	}
	return t
}

// copyIn stores values in slots that an earlier slot will publish.
func copyIn[T any](slots []slot[T], values []T) int {
	n := min(len(slots), len(values))
	slots, values = slots[:n], values[:n]
	for i := range slots {
		slots[i].value = values[i]
		slots[i].ready = 1
	}
	return n
}

// find returns the chunk of ticket t, which the caller holds, starting at from,
// which it loaded from hint after taking the ticket. It links chunks that are
// not there yet.
func (q *MPSC[T]) find(from *chunk[T], t uint64) *chunk[T] {
	c := from
	for int64(t-c.base) < 0 { // others, with later tickets, have moved the hint past t
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
		c = c.next.Load() // another push was first: fresh will serve a later one
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

// Drain removes up to len(dst) of the oldest values into dst and returns how
// many there were, 0 in the cases where Pop reports false.
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
		moved := moveOut(dst[n:], q.chunk.slots[i:])
		if moved == 0 {
			break
		}
		n += moved
		q.head += uint64(moved)
	}
	q.reclaim()
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

// Len returns how many values are in the queue, those of unfinished pushes
// included: once the queue is closed, 0 says that nothing will come any more.
// Like Pop it is for the consumer alone.
func (q *MPSC[T]) Len() int {
	return int(min(q.taken()-q.head, math.MaxInt))
}

// Pushed returns how many values were accepted since the queue was made. It is
// for any goroutine.
func (q *MPSC[T]) Pushed() uint64 { return q.taken() - q.start }

// advance moves the consumer from its drained chunk to the next, if there is one.
//
// The chunk stays linked, and untouched, until head reaches until. This makes
// its reuse safe: a push with a ticket of until or later took the ticket after
// the chunk had become unreachable from the hint, so it never sees the chunk;
// a push with an earlier ticket may, but head has passed its slot by then, so
// it has marked its slot ready, and that is the last it does.
func (q *MPSC[T]) advance() bool {
	c := q.chunk
	next := c.next.Load()
	if next == nil {
		return false
	}
	next.prev = nil // only pushes into c or before it follow prev, and all of those have finished
	step()
	q.hint.CompareAndSwap(c, next)
	step()
	c.until = q.taken()
	q.chunk = next
	return true
}

// reclaim links the drained chunks that no push refers to behind the last one,
// for use again, and drops those that exceed the retention.
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
