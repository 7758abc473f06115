package ingress

import (
	"sync"
	"sync/atomic"
)

// linked is the document's lock-free ingress: a list of nodes from a sync.Pool,
// which a producer extends by swapping the tail and then linking the node that
// was there to its own (Vyukov's queue of nodes). A producer held up between
// the two hides what comes after it until it goes on; it loses nothing.
type linked[V, P any] struct {
	_    P
	tail atomic.Pointer[node[V]] // the last node; publishes nothing: next does
	_    P
	head *node[V] // owned by the loop: the node whose value was taken last
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

// put gives a node back. Its producer's successor was the last to refer to it,
// and has finished: the loop has seen the link. The value was cleared when it
// was taken; unless lean, it is cleared once more, as the document's is.
func (l *linked[V, P]) put(n *node[V]) {
	if !l.lean {
		var zero V
		n.value = zero
	}
	n.next.Store(nil)
	l.pool.Put(n)
}
