package ingress

import "sync/atomic"

func init() {
	// The document's second option for Main: an arena while the queue is short, chunks alone otherwise.
	Register("main-threshold", func(c Config) (Loop, error) {
		return start(newThreshold(c.Producers), options{eager: true}), nil
	})
}

const (
	thresholdEvery = 1024 // tasks between two checks of the length
	thresholdLen   = 4096 // length beyond which tasks bypass the arena
)

// A threshold checks the length of the queue at every 1,024th task, as in the document. Until
// the next check it puts tasks into the arena or directly into the chunks. Both share one
// queue: with two, as the document draws it, a producer's tasks would overtake each other.
type threshold struct {
	chunks  *chunks[either, tight]
	cells   *arena
	count   atomic.Uint64 // tasks pushed; publishes nothing
	drained atomic.Uint64 // tasks drained, stored by the loop; publishes nothing
	direct  atomic.Bool   // result of the latest check; publishes nothing
	batches [][]either    // by producer, which owns its own
	scratch []either      // owned by the loop
}

// either is a task, or a pointer to its cell in the arena.
type either struct {
	task Task
	cell *cell
}

func newThreshold(producers int) *threshold {
	return &threshold{
		chunks: newChunks[either, tight](false), cells: newArena(segmentLen),
		batches: make([][]either, producers), scratch: make([]either, batchLen),
	}
}

func (q *threshold) either(t Task) either {
	n := q.count.Add(1)
	if n%thresholdEvery == 0 {
		q.direct.Store(int64(n-q.drained.Load()) > thresholdLen)
	}
	if q.direct.Load() {
		return either{task: t}
	}
	return either{cell: q.cells.put(t)}
}

func (q *threshold) push(producer int, t Task) { q.chunks.push(producer, q.either(t)) }

func (q *threshold) pushAll(producer int, ts []Task) {
	b := q.batches[producer][:0]
	for _, t := range ts {
		b = append(b, q.either(t))
	}
	q.chunks.pushAll(producer, b)
	clear(b)
	q.batches[producer] = b
}

func (q *threshold) drain(dst []Task) int {
	n := q.chunks.drain(q.scratch[:min(len(dst), len(q.scratch))])
	for i, e := range q.scratch[:n] {
		q.scratch[i] = either{}
		dst[i] = e.task
		if e.cell != nil {
			dst[i], e.cell.task = e.cell.task, nil
			q.cells.release(e.cell.home)
		}
	}
	q.drained.Store(q.drained.Load() + uint64(n))
	return n
}
