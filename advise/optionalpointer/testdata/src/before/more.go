package before

import "sync"

type queue struct {
	mu    sync.Mutex
	items []int
}

type reader struct{ from *queue }

type transport struct{ reader *reader }

// The lock is behind a pointer: the reader can be held by value.
func newTransport(q *queue) *transport {
	return &transport{
		reader: &reader{from: q}, // want `transport and its reader`
	}
}

func (t *transport) next() int { return t.reader.from.items[0] }
