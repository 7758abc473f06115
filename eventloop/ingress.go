package eventloop

import (
	"sync"

	"github.com/isobar-go/isobar/queue"
)

// An ingress is a queue from the producers to the loop. It loses nothing, and
// keeps the order of each producer. It decides in one step whether a task comes
// before Close, and its place.
type ingress interface {
	Push(t Task) bool          // by any goroutine; false after Close
	PushBatch(ts []Task) int   // by any goroutine: all, or none after Close; keeps none of ts
	Close() (accepted uint64)  // by any goroutine, any number of times; how many tasks came before
	Pushed() (accepted uint64) // by any goroutine; how many tasks have come
	Drain(dst []Task) int      // by the loop; 0 if nothing is there, or not yet
}

// newIngress returns the default, lockFree. In BenchmarkSubmit it was as fast as
// chunked with one producer and faster with 2 and 8, and in batches; in
// BenchmarkSubmitTail, with a collection every 1,000 tasks, its 99.9th percentile
// was higher with one producer, and lower by far with 2 and 8. Round trips
// take the same.
func newIngress() ingress { return newLockFree() }

func newLockFree() ingress { return queue.NewMPSC[Task](queue.MPSCConfig{}) }

// chunked is a list of blocks under a mutex. Drained blocks are used again.
type chunked struct {
	mu         sync.Mutex // guards everything below
	head, tail *block     // head is where the loop reads; both nil if there was no push yet
	free       *block     // blocks to be used again, along next
	spare      int        // how many
	accepted   uint64
	closed     bool
}

const (
	blockLen  = 128
	maxSpares = 128
)

type block struct {
	tasks       [blockLen]Task
	read, wrote int // tasks[read:wrote] are in the queue
	next        *block
}

func newChunked() ingress { return new(chunked) }

func (c *chunked) Push(t Task) bool {
	c.mu.Lock()
	open := !c.closed
	if open {
		c.append(t)
	}
	c.mu.Unlock()
	return open
}

func (c *chunked) PushBatch(ts []Task) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0
	}
	for _, t := range ts {
		c.append(t)
	}
	return len(ts)
}

func (c *chunked) Close() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.accepted
}

func (c *chunked) Pushed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepted
}

func (c *chunked) append(t Task) {
	if c.tail == nil || c.tail.wrote == blockLen {
		b := c.free
		if b != nil {
			c.free, b.next = b.next, nil
			c.spare--
		} else {
			b = new(block)
		}
		if c.tail == nil {
			c.head = b
		} else {
			c.tail.next = b
		}
		c.tail = b
	}
	c.tail.tasks[c.tail.wrote] = t
	c.tail.wrote++
	c.accepted++
}

func (c *chunked) Drain(dst []Task) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for b := c.head; b != nil && n < len(dst); b = c.head {
		moved := copy(dst[n:], b.tasks[b.read:b.wrote])
		clear(b.tasks[b.read : b.read+moved])
		b.read += moved
		n += moved
		if b.read < b.wrote {
			break
		}
		b.read, b.wrote = 0, 0
		if b.next == nil {
			break // the only one: filled again from its start
		}
		c.head = b.next
		b.next = nil
		if c.spare < maxSpares {
			b.next, c.free = c.free, b
			c.spare++
		}
	}
	return n
}
