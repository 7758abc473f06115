package ingress

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// segmentLen is the size of the document's task arena.
const segmentLen = 65536

// keepSegments is how many empty segments an arena keeps.
const keepSegments = 4

// An arena allocates slots by one atomic addition, like the document's task arena. That one
// has 65,536 slots and reuses the oldest even if its task has not run. This one continues in
// another segment. The loop frees slots, and a segment is reused once all its slots are free.
type arena struct {
	current atomic.Pointer[segment] // publishes a segment with free slots; stored under mu
	len     int                     // of a segment
	mu      sync.Mutex
	free    []*segment // guarded by mu; not current
}

type segment struct {
	_     cpu.CacheLinePad
	given atomic.Int64 // slots allocated since the last reset, plus failed attempts; all producers add
	_     cpu.CacheLinePad
	freed int    // slots freed since the last reset; owned by the loop
	kept  bool   // it is in free; guarded by the arena's mu
	slots []cell // each owned by the producer that got it, then by the loop
}

func newArena(segment int) *arena {
	a := &arena{len: segment}
	a.current.Store(a.make())
	return a
}

func (a *arena) make() *segment { return &segment{slots: make([]cell, a.len)} }

// alloc returns a slot and its segment.
//
// A producer may be delayed between the load and the addition until the segment has been
// emptied and reset. Its slot then belongs to the segment's next use and counts there: the
// segment is reset again only after that slot is freed.
func (a *arena) alloc() (*cell, *segment) {
	for {
		s := a.current.Load()
		if i := s.given.Add(1) - 1; i < int64(len(s.slots)) {
			return &s.slots[i], s
		}
		a.replace(s)
	}
}

// replace makes another segment current, unless someone already has.
func (a *arena) replace(full *segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current.Load() != full || full.given.Load() < int64(len(full.slots)) {
		return
	}
	n := len(a.free)
	if n == 0 {
		a.current.Store(a.make())
		return
	}
	s := a.free[n-1]
	a.free[n-1] = nil
	a.free = a.free[:n-1]
	s.kept = false
	a.current.Store(s)
}

// put stores a task.
func (a *arena) put(t Task) *cell {
	slot, home := a.alloc()
	slot.task, slot.home = t, home
	return slot
}

// release frees a slot of s. Only the loop calls it.
func (a *arena) release(s *segment) {
	if s.freed++; s.freed < len(s.slots) {
		return
	}
	s.freed = 0
	a.mu.Lock()
	s.given.Store(0)
	if a.current.Load() != s && !s.kept && len(a.free) < keepSegments {
		s.kept = true
		a.free = append(a.free, s)
	}
	a.mu.Unlock()
}

// A cell is a task in an arena.
type cell struct {
	task Task
	home *segment
}

// A celled is a queue of tasks in an arena, with their addresses in another
// queue. The document proposes it.
type celled struct {
	queue   fifo[*cell]
	cells   *arena
	batches [][]*cell // by producer, which owns its own
	scratch []*cell   // owned by the loop
}

func newCelled(q fifo[*cell], producers int) *celled {
	return &celled{queue: q, cells: newArena(segmentLen), batches: make([][]*cell, producers),
		scratch: make([]*cell, batchLen)}
}

func (c *celled) push(producer int, t Task) { c.queue.push(producer, c.cells.put(t)) }

func (c *celled) pushAll(producer int, ts []Task) {
	b := c.batches[producer][:0]
	for _, t := range ts {
		b = append(b, c.cells.put(t))
	}
	c.queue.pushAll(producer, b)
	clear(b)
	c.batches[producer] = b
}

func (c *celled) drain(dst []Task) int {
	n := c.queue.drain(c.scratch[:min(len(dst), len(c.scratch))])
	for i, slot := range c.scratch[:n] {
		c.scratch[i] = nil
		dst[i] = slot.task
		slot.task = nil
		c.cells.release(slot.home)
	}
	return n
}
