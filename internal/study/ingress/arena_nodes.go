package ingress

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

func init() {
	// A lock-free list whose nodes are in an arena that grows by segments.
	Register("arena", func(Config) (Loop, error) { return start(newArenaList(segmentLen), options{}), nil })
}

// An arenaList is linked by nodes in an arena. They hold the tasks themselves,
// so it needs no pool and no second copy of a task.
type arenaList struct {
	nodes *arena[arenaNode]
	_     cpu.CacheLinePad
	tail  atomic.Pointer[arenaNode] // the last node; publishes nothing: next does
	_     cpu.CacheLinePad
	head  *arenaNode // owned by the loop: the node of the last task taken
	_     cpu.CacheLinePad
}

type arenaNode struct {
	task Task
	next atomic.Pointer[arenaNode] // publishes task of the next node
	home *segment[arenaNode]
}

func newArenaList(segment int) *arenaList {
	l := &arenaList{nodes: newArena[arenaNode](segment)}
	l.head = l.node(nil)
	l.tail.Store(l.head)
	return l
}

// node returns a node whose next is nil.
func (l *arenaList) node(t Task) *arenaNode {
	n, home := l.nodes.alloc()
	n.task, n.home = t, home
	return n
}

func (l *arenaList) push(_ int, t Task) {
	n := l.node(t)
	l.tail.Swap(n).next.Store(n)
}

func (l *arenaList) pushAll(_ int, ts []Task) {
	if len(ts) == 0 {
		return
	}
	first := l.node(ts[0])
	last := first
	for _, t := range ts[1:] {
		n := l.node(t)
		last.next.Store(n)
		last = n
	}
	l.tail.Swap(last).next.Store(first)
}

func (l *arenaList) drain(dst []Task) int {
	for i := range dst {
		next := l.head.next.Load()
		if next == nil {
			return i
		}
		dst[i], next.task = next.task, nil
		old := l.head
		l.head = next
		old.next.Store(nil)
		l.nodes.release(old.home)
	}
	return len(dst)
}
