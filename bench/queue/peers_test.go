package queue_test

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	workiva "github.com/Workiva/go-datastructures/queue"
	"github.com/bytedance/gopkg/collection/lscq"
	"github.com/puzpuzpuz/xsync/v4"

	isobar "github.com/isobar-go/isobar/queue"
)

type impl struct {
	name string
	make func() queue
}

// mpsc lists the queues for many producers; isobar-rested has a consumer that
// takes breaks. The last four are not libraries
// but what people write: a channel, a slice and a list of chunks behind a
// mutex, and a linked list of nodes from a sync.Pool.
var mpsc = []impl{
	{"isobar", func() queue {
		q := isobar.NewMPSC[*task](isobar.MPSCConfig{})
		return queue{
			push:      func(t *task) bool { q.Push(t); return true },
			take:      q.Drain,
			pushBatch: func(ts []*task) int { q.PushBatch(ts); return len(ts) },
		}
	}},
	{"isobar-ring", func() queue {
		q := isobar.NewMPSCRing[*task](window)
		return queue{push: q.Push, take: q.Drain, pushBatch: q.PushBatch}
	}},
	{"isobar-rested", func() queue {
		q := isobar.NewMPSC[*task](isobar.MPSCConfig{})
		return queue{push: func(t *task) bool { q.Push(t); return true }, take: rested(q.Drain)}
	}},
	{"xsync-mpmc", func() queue {
		q := xsync.NewMPMCQueue[*task](window)
		return queue{push: q.TryEnqueue, take: one(q.TryDequeue)}
	}},
	{"xsync-umpsc", func() queue {
		q := xsync.NewUMPSCQueue[*task]()
		return queue{
			push: func(t *task) bool { q.Enqueue(t); return true },
			take: func(dst []*task) int { dst[0] = q.Dequeue(); return 1 }, // waits
		}
	}},
	{"lscq", func() queue {
		q := lscq.NewPointer()
		return queue{
			push: func(t *task) bool { return q.Enqueue(unsafe.Pointer(t)) },
			take: one(func() (*task, bool) { p, ok := q.Dequeue(); return (*task)(p), ok }),
		}
	}},
	{"workiva-ring", func() queue {
		q := workiva.NewRingBuffer(window)
		return queue{
			push: func(t *task) bool { return q.Put(t) == nil }, // waits while full
			take: one(func() (*task, bool) {
				if q.Len() == 0 {
					return nil, false
				}
				t, err := q.Get()
				return t.(*task), err == nil
			}),
		}
	}},
	{"workiva-queue", func() queue {
		q := workiva.New(window)
		return queue{
			push: func(t *task) bool { return q.Put(t) == nil },
			take: func(dst []*task) int {
				ts, err := q.Get(int64(len(dst))) // waits
				if err != nil {
					panic(err)
				}
				for i, t := range ts {
					dst[i] = t.(*task)
				}
				return len(ts)
			},
			pushBatch: func(ts []*task) int {
				var buf [maxBatch]any
				for i, t := range ts {
					buf[i] = t
				}
				if err := q.Put(buf[:len(ts)]...); err != nil {
					panic(err)
				}
				return len(ts)
			},
		}
	}},
	{"channel", channel},
	{"mutex-slice", func() queue { return new(mutexSlice).queue() }},
	{"mutex-chunks", func() queue { return newMutexChunks().queue() }},
	{"linked-pooled", func() queue { return newLinked().queue() }},
}

// spsc lists the queues for one producer.
var spsc = []impl{
	{"isobar", func() queue {
		q := isobar.NewSPSCRing[*task](window)
		return queue{push: q.Push, take: q.Drain, pushBatch: q.PushBatch}
	}},
	{"isobar-unbounded", func() queue {
		q := isobar.NewSPSC[*task](isobar.DefaultRetain)
		return queue{push: q.Push, take: q.Drain, pushBatch: q.PushBatch}
	}},
	{"xsync-spsc", func() queue {
		q := xsync.NewSPSCQueue[*task](window)
		return queue{push: q.TryEnqueue, take: one(q.TryDequeue)}
	}},
	{"channel", channel},
}

// rested is a consumer that does something else for two microseconds after it
// has caught up with the producers.
func rested(drain func([]*task) int) func([]*task) int {
	caughtUp := false
	return func(dst []*task) int {
		if caughtUp {
			for began := time.Now(); time.Since(began) < 2*time.Microsecond; {
			}
		}
		n := drain(dst)
		caughtUp = n < len(dst)
		return n
	}
}

// one takes one value at a time: the peer has no batches.
func one(dequeue func() (*task, bool)) func([]*task) int {
	return func(dst []*task) int {
		for i := range dst {
			t, ok := dequeue()
			if !ok {
				return i
			}
			dst[i] = t
		}
		return len(dst)
	}
}

func channel() queue {
	c := make(chan *task, window)
	return queue{
		push: func(t *task) bool { c <- t; return true },
		take: one(func() (*task, bool) {
			select {
			case t := <-c:
				return t, true
			default:
				return nil, false
			}
		}),
	}
}

// mutexSlice appends under a mutex; the consumer swaps the slice for an empty one.
type mutexSlice struct {
	mu     sync.Mutex
	values []*task // guarded by mu
	out    []*task // the consumer's; out[:at] are taken
	at     int
}

func (q *mutexSlice) queue() queue {
	return queue{
		push: func(t *task) bool {
			q.mu.Lock()
			q.values = append(q.values, t)
			q.mu.Unlock()
			return true
		},
		take: func(dst []*task) int {
			if q.at == len(q.out) {
				clear(q.out)
				q.mu.Lock()
				q.values, q.out = q.out[:0], q.values
				q.mu.Unlock()
				q.at = 0
			}
			n := copy(dst, q.out[q.at:])
			q.at += n
			return n
		},
		pushBatch: func(ts []*task) int {
			q.mu.Lock()
			q.values = append(q.values, ts...)
			q.mu.Unlock()
			return len(ts)
		},
	}
}

// mutexChunks is a list of chunks from a sync.Pool, all behind a mutex.
type mutexChunks struct {
	mu         sync.Mutex
	head, tail *taskChunk
	pool       sync.Pool
}

type taskChunk struct {
	values     [128]*task
	read, fill int
	next       *taskChunk
}

func newMutexChunks() *mutexChunks {
	c := new(taskChunk)
	return &mutexChunks{head: c, tail: c, pool: sync.Pool{New: func() any { return new(taskChunk) }}}
}

func (q *mutexChunks) queue() queue {
	return queue{
		push: func(t *task) bool {
			q.mu.Lock()
			if q.tail.fill == len(q.tail.values) {
				c := q.pool.Get().(*taskChunk)
				q.tail.next = c
				q.tail = c
			}
			q.tail.values[q.tail.fill] = t
			q.tail.fill++
			q.mu.Unlock()
			return true
		},
		take: func(dst []*task) int {
			q.mu.Lock()
			defer q.mu.Unlock()
			n := 0
			for {
				c := q.head
				moved := copy(dst[n:], c.values[c.read:c.fill])
				clear(c.values[c.read : c.read+moved])
				c.read += moved
				n += moved
				if c.read < len(c.values) || c.next == nil {
					return n
				}
				q.head = c.next
				c.read, c.fill, c.next = 0, 0, nil
				q.pool.Put(c)
			}
		},
	}
}

// linked is a list of nodes from a sync.Pool: producers swap the tail and then
// link the node before.
type linked struct {
	head *node // the consumer's; its value is taken
	_    [64]byte
	tail atomic.Pointer[node]
	_    [64]byte
	pool sync.Pool
}

type node struct {
	value *task
	next  atomic.Pointer[node]
}

func newLinked() *linked {
	q := &linked{head: new(node), pool: sync.Pool{New: func() any { return new(node) }}}
	q.tail.Store(q.head)
	return q
}

func (q *linked) queue() queue {
	return queue{
		push: func(t *task) bool {
			n := q.pool.Get().(*node)
			n.value = t
			q.tail.Swap(n).next.Store(n)
			return true
		},
		take: one(func() (*task, bool) {
			next := q.head.next.Load()
			if next == nil {
				return nil, false
			}
			old, t := q.head, next.value
			q.head, next.value = next, nil
			old.next.Store(nil)
			q.pool.Put(old)
			return t, true
		}),
	}
}
