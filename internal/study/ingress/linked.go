package ingress

import (
	"sync"
	"sync/atomic"
)

func init() {
	// A lock-free list of nodes from a sync.Pool.
	Register("linked", func(Config) (Loop, error) { return start(newLinked[Task, padded](true), options{}), nil })
}

// linked is the document's lock-free ingress: a list of nodes from a sync.Pool.
// A producer swaps the tail for its node and then links the previous node to it
// (Vyukov's queue of nodes). A producer delayed between the two hides later
// nodes until it resumes; nothing is lost.
type linked[V, P any] struct {
	_    P
	tail atomic.Pointer[node[V]] // the last node; publishes nothing: next does
	_    P
	head *node[V] // owned by the loop: the node of the last value taken
	_    P
	lean bool // constant; see put
	pool sync.Pool
}

type node[V any] struct {
	value V
	next  atomic.Pointer[node[V]] // publishes value of the next node
}

func newLinked[V, P any](lean bool) *linked[V, P] {
	l := &linked[V, P]{lean: lean, pool: sync.Pool{New: func() any { return new(node[V]) }}}
	l.head = new(node[V])
	l.tail.Store(l.head)
	return l
}

func (l *linked[V, P]) push(_ int, v V) {
	n := l.pool.Get().(*node[V])
	n.value = v
	l.tail.Swap(n).next.Store(n)
}

func (l *linked[V, P]) pushAll(_ int, vs []V) {
	if len(vs) == 0 {
		return
	}
	first := l.pool.Get().(*node[V])
	first.value = vs[0]
	last := first
	for _, v := range vs[1:] {
		n := l.pool.Get().(*node[V])
		n.value = v
		last.next.Store(n)
		last = n
	}
	l.tail.Swap(last).next.Store(first)
}

func (l *linked[V, P]) drain(dst []V) int {
	for i := range dst {
		next := l.head.next.Load()
		if next == nil {
			return i
		}
		var zero V
		dst[i], next.value = next.value, zero
		l.put(l.head)
		l.head = next
	}
	return len(dst)
}

// put returns a node to the pool. The producer of the next node was the last to
// refer to it and is done with it: the loop has seen its link. The value was
// cleared when it was taken; unless lean, it is cleared again, as in the
// document.
func (l *linked[V, P]) put(n *node[V]) {
	if !l.lean {
		var zero V
		n.value = zero
	}
	n.next.Store(nil)
	l.pool.Put(n)
}

// A List is the document's lock-free ingress alone, with many producers and one consumer.
type List struct {
	linked *linked[Task, tight]
	taken  [1]Task // owned by the loop
}

// A Node is an element of a List.
type Node = node[Task]

func NewList() *List { return &List{linked: newLinked[Task, tight](false)} }

func (l *List) Push(t Task) { l.linked.push(0, t) }

// Pop returns nil if no task is available yet. Only the loop calls it.
func (l *List) Pop() Task {
	l.taken[0] = nil
	l.linked.drain(l.taken[:])
	return l.taken[0]
}
