package before

import "sync"

type window struct {
	mu sync.Mutex
	n  int
}

type stream struct {
	id     int
	window *window
}

// Held by value, the lock forbids to copy the stream: a hint.
func newStream(id int) *stream {
	return &stream{
		id:     id,
		window: &window{n: id}, // want `hold window by value`
	}
}
