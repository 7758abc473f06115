// Package queue_test compares Isobar's queues with their peers. An operation
// is one value pushed by a producer and taken by the one consumer. Both
// sides of a comparison move pointers to the same value, keep about window
// of them in flight, and yield where they can go no further.
package queue_test

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/bench/internal/cputime"
)

// window is how many values producers leave in the queue at most, and what
// bounded queues hold.
const window = 8192

// maxBatch is the most that the consumer takes at once.
const maxBatch = 256

type task struct{ n int }

// A queue is what is compared. push reports false if there is no room; take
// removes up to len(dst) values, 0 if there are none.
type queue struct {
	push func(*task) bool
	take func(dst []*task) int
	// pushBatch is for queues that take many at once; others loop over push.
	pushBatch func([]*task) int
}

// bench moves b.N values; the consumer does work multiplications for each.
// values/take is how many it finds at once: the more, the longer they have waited. b.N
// rather than b.Loop: the goroutines share the iterations out, as those of
// RunParallel do.
func bench(b *testing.B, q queue, producers, batch, work int) {
	b.ReportAllocs()
	var taken atomic.Int64
	each := (b.N + producers - 1) / producers
	values := make([]*task, batch)
	for i := range values {
		values[i] = &task{1}
	}
	runtime.GC() // what the benchmark before left
	began := cputime.Process()
	b.ResetTimer()
	for range producers {
		go produce(q, values, each, producers, &taken)
	}
	dst, sum, hash, takes := make([]*task, maxBatch), 0, uint64(0), 0
	for got := 0; got < each*producers; {
		n := q.take(dst)
		if n == 0 {
			runtime.Gosched()
			continue
		}
		takes++
		for _, t := range dst[:n] {
			sum += t.n
			for range work {
				hash = hash*0x5851f42d4c957f2d + uint64(t.n)
			}
		}
		got += n
		taken.Store(int64(got))
	}
	b.StopTimer()
	b.ReportMetric(float64((cputime.Process()-began).Nanoseconds())/float64(each*producers), "cpu-ns/op")
	b.ReportMetric(float64(each*producers)/float64(takes), "values/take")
	if sum != each*producers || hash == 0 && work > 0 {
		b.Fatalf("%d values came out, want %d (hash %d)", sum, each*producers, hash)
	}
}

// produce pushes each values, len(values) at once.
func produce(q queue, values []*task, each, producers int, taken *atomic.Int64) {
	for i := 0; i < each; {
		if len(values) == 1 {
			for !q.push(values[0]) {
				runtime.Gosched()
			}
			i++
		} else {
			for rest := values[:min(len(values), each-i)]; len(rest) > 0; {
				n := q.pushBatch(rest)
				if n == 0 {
					runtime.Gosched()
				}
				rest, i = rest[n:], i+n
			}
		}
		if i%64 == 0 {
			for int64(i*producers)-taken.Load() > window {
				runtime.Gosched()
			}
		}
	}
}

// backlog pushes window values and takes them, in one goroutine: the cost of
// the operations without any contention.
func backlog(b *testing.B, q queue) {
	b.ReportAllocs()
	value, dst, sum := &task{1}, make([]*task, maxBatch), 0
	rounds, pushing := 0, time.Duration(0)
	round := func() {
		began := time.Now()
		for range window {
			if !q.push(value) {
				b.Fatal("full")
			}
		}
		pushing += time.Since(began)
		rounds++
		for got := 0; got < window; {
			n := q.take(dst)
			for _, t := range dst[:n] {
				sum += t.n
			}
			got += n
		}
	}
	cputime.Rounds(b, window, "value", round)
	b.ReportMetric(float64(pushing.Nanoseconds())/float64(rounds*window), "ns/push")
	if sum < window {
		b.Fatal("nothing came out")
	}
}

// BenchmarkMPSC compares queues for many producers with values pushed singly; rest is
// a producer for each P but the consumer's.
func BenchmarkMPSC(b *testing.B) {
	for _, producers := range []string{"1", "2", "8", "rest"} {
		n, err := strconv.Atoi(producers)
		if err != nil {
			n = runtime.GOMAXPROCS(0) - 1
		}
		if err != nil && n < 2 {
			continue // as with one producer
		}
		for _, impl := range mpsc {
			b.Run("producers="+producers+"/impl="+impl.name, func(b *testing.B) { bench(b, impl.make(), n, 1, 0) })
		}
	}
}

// BenchmarkMPSCBusy is BenchmarkMPSC with a consumer that does something with a
// value: 20 multiplications, each of which waits for the one before. A consumer
// that does nothing overtakes the producers and takes from them the cache line
// that they are about to write to.
func BenchmarkMPSCBusy(b *testing.B) {
	for _, producers := range []int{1, 8} {
		for _, impl := range mpsc {
			b.Run("producers="+strconv.Itoa(producers)+"/impl="+impl.name, func(b *testing.B) {
				bench(b, impl.make(), producers, 1, 20)
			})
		}
	}
}

// BenchmarkMPSCBatch compares the queues that take 64 values at once.
func BenchmarkMPSCBatch(b *testing.B) {
	for _, producers := range []int{1, 2, 8} {
		for _, impl := range mpsc {
			if impl.make().pushBatch == nil {
				continue
			}
			b.Run("producers="+strconv.Itoa(producers)+"/impl="+impl.name, func(b *testing.B) {
				bench(b, impl.make(), producers, 64, 0)
			})
		}
	}
}

// BenchmarkSPSC compares queues for one producer; isobar is the ring.
func BenchmarkSPSC(b *testing.B) {
	for _, impl := range spsc {
		b.Run("batch=1/impl="+impl.name, func(b *testing.B) { bench(b, impl.make(), 1, 1, 0) })
	}
	for _, impl := range spsc {
		if impl.make().pushBatch != nil {
			b.Run("batch=64/impl="+impl.name, func(b *testing.B) { bench(b, impl.make(), 1, 64, 0) })
		}
	}
}

// BenchmarkBacklog compares those for many producers, and the ring for one, in one
// goroutine. Of ns/value, ns/push is what pushing takes.
func BenchmarkBacklog(b *testing.B) {
	for _, impl := range append(mpsc[:len(mpsc):len(mpsc)], impl{"isobar-spsc", spsc[0].make}) {
		b.Run("window="+strconv.Itoa(window)+"/impl="+impl.name, func(b *testing.B) { backlog(b, impl.make()) })
	}
}
