package ingress

import (
	"sync"

	"golang.org/x/sys/cpu"
)

func init() {
	// The document's Main: chunks under a mutex, a signal with every submission.
	Register("main", func(Config) (Loop, error) { return start(newChunks[Task, tight](false), options{eager: true}), nil })
	// The document's third option for Main: less clearing, padding, a signal only for a loop that sleeps.
	Register("main-lean", func(Config) (Loop, error) { return start(newChunks[Task, padded](true), options{}), nil })
	// The document's first option for Main: tasks in an arena, their addresses in the chunks.
	Register("main-arena", func(c Config) (Loop, error) {
		return start(newCelled(newChunks[*cell, tight](false), c.Producers), options{eager: true}), nil
	})
}

// Padding for the fields of a queue: none, or a cache line each.
type (
	tight  = struct{}
	padded = cpu.CacheLinePad
)

// chunkLen is the document's value.
const chunkLen = 128

// chunks is the document's chunked ingress: a list of chunks from a sync.Pool,
// under a mutex, filled and emptied value by value.
type chunks[V, P any] struct {
	_          P
	mu         sync.Mutex // guards the fields below
	_          P
	head, tail *chunk[V] // the loop reads at head; both nil before the first push
	_          P
	lean       bool // constant; see drain
	// Slots of emptied chunks: those used, and those cleared.
	used, cleared int
	pool          sync.Pool
}

type chunk[V any] struct {
	values      [chunkLen]V
	read, wrote int // values[read:wrote] are in the queue
	next        *chunk[V]
}

func newChunks[V, P any](lean bool) *chunks[V, P] {
	return &chunks[V, P]{lean: lean, pool: sync.Pool{New: func() any { return new(chunk[V]) }}}
}

func (c *chunks[V, P]) push(_ int, v V) {
	c.mu.Lock()
	c.add(v)
	c.mu.Unlock()
}

func (c *chunks[V, P]) pushAll(_ int, vs []V) {
	c.mu.Lock()
	for _, v := range vs {
		c.add(v)
	}
	c.mu.Unlock()
}

func (c *chunks[V, P]) add(v V) {
	if c.tail == nil || c.tail.wrote == chunkLen {
		fresh := c.pool.Get().(*chunk[V])
		if c.tail == nil {
			c.head = fresh
		} else {
			c.tail.next = fresh
		}
		c.tail = fresh
	}
	c.tail.values[c.tail.wrote] = v
	c.tail.wrote++
}

// drain clears each value as it takes it, and the whole chunk again before it
// returns it to the pool. If lean, it clears only the used part, once.
func (c *chunks[V, P]) drain(dst []V) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(dst) && c.head != nil {
		h := c.head
		if h.read < h.wrote {
			dst[n] = h.values[h.read]
			if !c.lean {
				var zero V
				h.values[h.read] = zero
			}
			h.read++
			n++
			continue
		}
		if h == c.tail { // the only chunk: fill it from its start again
			c.reset(h, h.wrote)
			break
		}
		c.head = h.next
		c.reset(h, chunkLen)
		h.next = nil
		c.pool.Put(h)
	}
	return n
}

func (c *chunks[V, P]) reset(h *chunk[V], all int) {
	if c.lean {
		all = h.wrote
	}
	clear(h.values[:all])
	c.used, c.cleared = c.used+h.wrote, c.cleared+all
	h.read, h.wrote = 0, 0
}

// CountClearing pushes tasks in bursts of 1 to burst through the document's chunks and drains each. It
// returns how many slots of emptied chunks were used, and how many the document's Main clears for them.
func CountClearing(tasks, burst int) (used, cleared int) {
	c := newChunks[int, tight](false)
	out := make([]int, burst)
	for n := 0; n < tasks; {
		for range 1 + n%burst {
			c.push(0, n)
			n++
		}
		for c.drain(out) > 0 {
		}
	}
	return c.used, c.cleared
}
