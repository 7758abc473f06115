package latency

import (
	"sync/atomic"
	"time"
)

// A Window tells what a [Recorder] got since it was asked last, over and over
// again and without allocating: what a monitor shows of a program that goes on.
// Create one with [Recorder.Window]. Its methods must not run beside each other;
// they may run beside those of the Recorder.
type Window struct {
	r    *Recorder
	seen [numBuckets]uint64 // as of the last time
	now  [numBuckets]uint64 // what was added since, while Next runs
	// from and to bound the buckets that ever had a count.
	from, to int
}

// Window returns a window that begins now. It takes about 530 KB.
func (r *Recorder) Window() *Window {
	w := &Window{r: r, from: numBuckets}
	w.turn()
	return w
}

// Next stores in to, for each of the shares q (0.99 for the 99th percentile,
// ascending), the value below which that share of the durations lies that were
// recorded since the last call, or since the window began; and returns their
// number. Where it is 0, to is left as it is. Values are known to 1 part in
// 2,048 of themselves. What is recorded beside Next belongs to this window or
// to the next. Next panics unless every q is from 0 to 1 and to is as long as q.
func (w *Window) Next(q []float64, to []time.Duration) (count uint64) {
	if len(q) != len(to) {
		panic("latency: Window.Next: as many shares as places for them are needed")
	}
	for i, share := range q {
		if !(share >= 0 && share <= 1) || i > 0 && share < q[i-1] {
			panic("latency: Window.Next: shares from 0 to 1 are needed, in ascending order")
		}
	}
	count = w.turn()
	if count == 0 {
		return 0
	}
	below, bucket := uint64(0), w.from
	for i, share := range q {
		rank := uint64(share*float64(count-1) + 0.5)
		for below+w.now[bucket] <= rank {
			below += w.now[bucket]
			bucket++
		}
		to[i] = time.Duration(bucketMiddle(bucket))
	}
	return count
}

// turn closes the window and begins the next. After a Reset the counts of the
// Recorder are smaller than before; all of them are new then.
func (w *Window) turn() (count uint64) {
	shards := *w.r.table.Load()
	for _, s := range shards {
		if least, most := atomic.LoadUint64(&s.min), atomic.LoadUint64(&s.max); least <= most {
			w.from, w.to = min(w.from, bucketOf(least)), max(w.to, bucketOf(most)+1)
		}
	}
	if w.from >= w.to {
		return 0 // nothing ever
	}
	now, seen := w.now[w.from:w.to], w.seen[w.from:w.to]
	clear(now)
	for _, s := range shards {
		for i := range now {
			now[i] += atomic.LoadUint64(&s.counts[w.from+i])
		}
	}
	reset := false
	for i, n := range now {
		reset = reset || n < seen[i]
	}
	for i, n := range now {
		if !reset {
			now[i] -= seen[i]
		}
		seen[i] = n
		count += now[i]
	}
	return count
}
