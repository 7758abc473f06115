package ingress

import "sync"

func init() {
	// Blocks under a mutex, kept by the queue and emptied many tasks at once.
	Register("chunked", func(Config) (Loop, error) { return start(new(chunked), options{}), nil })
}

// chunked is the document's Main, changed so that the queue keeps its blocks
// and tasks are copied out.
type chunked struct {
	mu         sync.Mutex // guards everything below
	head, tail *block     // the loop reads at head; both nil before the first push
	free       *block     // blocks to reuse, linked by next
	spare      int        // number of free blocks
}

const maxSpares = 128

type block = chunk[Task]

func (c *chunked) push(_ int, t Task) {
	c.mu.Lock()
	c.add(t)
	c.mu.Unlock()
}

func (c *chunked) pushAll(_ int, ts []Task) {
	c.mu.Lock()
	for _, t := range ts {
		c.add(t)
	}
	c.mu.Unlock()
}

func (c *chunked) add(t Task) {
	if c.tail == nil || c.tail.wrote == chunkLen {
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
	c.tail.values[c.tail.wrote] = t
	c.tail.wrote++
}

func (c *chunked) drain(dst []Task) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for b := c.head; b != nil && n < len(dst); b = c.head {
		moved := copy(dst[n:], b.values[b.read:b.wrote])
		clear(b.values[b.read : b.read+moved])
		b.read += moved
		n += moved
		if b.read < b.wrote {
			break
		}
		b.read, b.wrote = 0, 0
		if b.next == nil {
			break // the only block: fill it from its start again
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
