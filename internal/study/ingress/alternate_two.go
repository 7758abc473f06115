package ingress

import "sync/atomic"

func init() {
	// The document's AlternateTwo: a lock-free list, a task arena, little clearing, padding, epoll on a
	// locked thread.
	Register("alternate-two", func(c Config) (Loop, error) {
		s, err := newEpoll()
		if err != nil {
			return nil, err
		}
		q := &counted{celled: newCelled(newLinked[*cell, padded](true), c.Producers)}
		return start(q, options{signal: s, locked: true}), nil
	})
}

// A counted maintains the length of its queue, like the document's lock-free ingress, at
// the cost of two more atomic additions.
type counted struct {
	*celled
	len atomic.Int64 // all add; publishes nothing
}

func (c *counted) push(producer int, t Task) {
	c.celled.push(producer, t)
	c.len.Add(1)
}

func (c *counted) pushAll(producer int, ts []Task) {
	c.celled.pushAll(producer, ts)
	c.len.Add(int64(len(ts)))
}

func (c *counted) drain(dst []Task) int {
	n := c.celled.drain(dst)
	if n > 0 {
		c.len.Add(int64(-n))
	}
	return n
}
