package eventloop

import (
	"sync"

	"github.com/isobar-go/isobar/queue"
)

// An entry is a task on its way to the loop.
type entry struct {
	task Task
	at   int64 // when it was submitted, by Loop.now; 0 unless Config.Latency is set
}

// An ingress is a queue from the producers to the loop. It loses nothing, and
// keeps the order of each producer. Whether the loop is open is decided before.
type ingress interface {
	push(e entry)          // by any goroutine
	pushAll(es []entry)    // by any goroutine; keeps none of es
	drain(dst []entry) int // by the loop; 0 if nothing is there, or not yet
}

// newIngress returns the default, lockFree. In BenchmarkSubmit it was as fast as
// chunked with one producer and faster with 2 and 8, and in batches; in
// BenchmarkSubmitTail, with a collection every 1,000 tasks, its 99.9th percentile
// was higher with one producer, and lower by far with 2 and 8. Round trips
// take the same.
func newIngress() ingress { return newLockFree() }

// lockFree is the queue of package queue.
type lockFree struct{ q *queue.MPSC[entry] }

func newLockFree() ingress               { return lockFree{queue.NewMPSC[entry](queue.MPSCConfig{})} }
func (i lockFree) push(e entry)          { i.q.Push(e) }
func (i lockFree) pushAll(es []entry)    { i.q.PushBatch(es) }
func (i lockFree) drain(dst []entry) int { return i.q.Drain(dst) }

// chunked is a list of blocks under a mutex. Drained blocks are used again.
type chunked struct {
	mu         sync.Mutex // guards everything below
	head, tail *block     // head is where the loop reads; both nil if there was no push yet
	free       *block     // blocks to be used again, along next
	spare      int        // how many
}

const (
	blockLen  = 128
	maxSpares = 128
)

type block struct {
	entries     [blockLen]entry
	read, wrote int // entries[read:wrote] are in the queue
	next        *block
}

func newChunked() ingress { return new(chunked) }

func (c *chunked) push(e entry) {
	c.mu.Lock()
	c.append(e)
	c.mu.Unlock()
}

func (c *chunked) pushAll(es []entry) {
	c.mu.Lock()
	for _, e := range es {
		c.append(e)
	}
	c.mu.Unlock()
}

func (c *chunked) append(e entry) {
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
	c.tail.entries[c.tail.wrote] = e
	c.tail.wrote++
}

func (c *chunked) drain(dst []entry) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for b := c.head; b != nil && n < len(dst); b = c.head {
		moved := copy(dst[n:], b.entries[b.read:b.wrote])
		clear(b.entries[b.read : b.read+moved])
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
