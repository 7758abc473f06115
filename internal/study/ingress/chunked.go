package ingress

import "sync"

func init() {
	Register(&Kind{Name: "chunked",
		Summary: "blocks under a mutex that the queue keeps for itself, emptied many tasks at once",
		New:     func(Config) (Loop, error) { return start(new(chunked), options{}), nil }})
}

// chunked is what is left of the document's Main if blocks stay with the queue
// and tasks leave by copy.
type chunked struct {
	mu         sync.Mutex // guards everything below
	head, tail *block     // the loop reads at head; both nil before the first push
	free       *block     // to be used again, along next
	spare      int        // how many
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
