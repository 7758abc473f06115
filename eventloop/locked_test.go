package eventloop

import "sync"

// A locked is the simplest ingress, a slice under a mutex. The tests compare
// the library's queue with it.
type locked struct {
	mu       sync.Mutex // guards everything below
	tasks    []Task
	accepted uint64
	closed   bool
}

func newLocked() ingress { return new(locked) }

func (q *locked) Push(t Task) bool { return q.PushBatch([]Task{t}) == 1 }

func (q *locked) PushBatch(ts []Task) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0
	}
	q.tasks = append(q.tasks, ts...)
	q.accepted += uint64(len(ts))
	return len(ts)
}

func (q *locked) Close() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.accepted
}

func (q *locked) Pushed() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.accepted
}

func (q *locked) Drain(dst []Task) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := copy(dst, q.tasks)
	q.tasks = append(q.tasks[:0], q.tasks[n:]...)
	return n
}
