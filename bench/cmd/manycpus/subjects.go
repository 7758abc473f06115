//go:build linux && amd64

package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/isobar-go/isobar/latency"
	"github.com/isobar-go/isobar/pool"
	"github.com/isobar-go/isobar/queue"
)

// A subject is a structure that CPUs share. start returns what each of n CPUs
// does again and again; it returns how many operations it has finished.
type subject struct {
	name  string
	start func(n int) []func() int
}

type item struct{ _ [8]uint64 }

var subjects = []subject{
	{"one atomic counter", func(n int) []func() int {
		var c atomic.Int64
		return each(n, func(int) func() int { return func() int { c.Add(1); return 1 } })
	}},
	{"queue.MPSC", func(n int) []func() int {
		q := queue.NewMPSC[*item](queue.MPSCConfig{})
		return oneConsumer(n, q.Push, q.Drain)
	}},
	{"queue.MPSCRing", func(n int) []func() int {
		q := queue.NewMPSCRing[*item](room)
		return oneConsumer(n, q.Push, q.Drain)
	}},
	{"xsync.MPMCQueue", func(n int) []func() int {
		q := xsync.NewMPMCQueue[*item](room)
		return oneConsumer(n, q.TryEnqueue, func([]*item) int {
			if _, ok := q.TryDequeue(); ok {
				return 1
			}
			return 0
		})
	}},
	{"sync.Pool", func(n int) []func() int {
		p := sync.Pool{New: func() any { return new(item) }}
		return each(n, func(int) func() int { return func() int { p.Put(p.Get()); return 1 } })
	}},
	{"pool.Retaining", pooled(pool.Config[item]{Kind: pool.Retaining})},
	{"pool.Bounded", pooled(pool.Config[item]{Kind: pool.Bounded, Limit: 4096})},
	{"latency.Recorder", func(n int) []func() int {
		r := latency.NewRecorder()
		return each(n, func(i int) func() int {
			d := time.Duration(1000 * (i + 1))
			return func() int { r.Record(d); return 1 }
		})
	}},
}

const (
	room  = 1 << 16 // of a bounded queue
	ahead = 1000    // how many items an adding CPU may be ahead of the one that takes, on average
)

func each(n int, op func(i int) func() int) (ops []func() int) {
	for i := range n {
		ops = append(ops, op(i))
	}
	return ops
}

func pooled(config pool.Config[item]) func(int) []func() int {
	return func(n int) []func() int {
		p := pool.New(config)
		return each(n, func(int) func() int { return func() int { p.Put(p.Get()); return 1 } })
	}
}

// oneConsumer has the first CPU take and the others add; a single one does both
// by turns. An operation is an item that was added.
func oneConsumer(n int, push func(*item) bool, take func([]*item) int) []func() int {
	v, to := new(item), make([]*item, 64)
	if n == 1 {
		return []func() int{func() int { push(v); return take(to) }}
	}
	var taken struct {
		_ [8]uint64
		atomic.Int64
		_ [7]uint64
	}
	consumer := func() int {
		k := take(to)
		if k > 0 {
			taken.Store(taken.Load() + int64(k))
		}
		return 0
	}
	return append([]func() int{consumer}, each(n-1, func(int) func() int {
		added := int64(0)
		return func() int {
			if added%ahead == 0 && added > taken.Load()/int64(n-1)+ahead || !push(v) {
				return 0
			}
			added++
			return 1
		}
	})...)
}
