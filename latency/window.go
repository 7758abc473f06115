package latency

import (
	"sync/atomic"
	"time"
)

// A Window reports what a [Recorder] recorded since the last call, repeatedly
// and without allocating: for a monitor of a running program. Create one with
// [Recorder.Window]; it must not be copied. Its methods must not run
// concurrently with each other, but may with those of the Recorder.
type Window struct {
	r     *Recorder
	first *shard             // of the Recorder at the last call
	seen  [numBuckets]uint64 // at the last call
	now   [numBuckets]uint64 // added since, while Next runs
	// from and to bound the buckets that ever had a count.
	from, to int
}

// Window returns a window that begins now. It occupies about 530 KB.
func (r *Recorder) Window() *Window {
	w := &Window{r: r, from: numBuckets}
	w.turn()
	return w
}

// Next stores in to, for each fraction in q (0.99 for the 99th percentile,
// ascending), the value below which that fraction of the durations since the
// last call lies, and returns the number of durations. The first window begins
// at Recorder.Window. If the number is 0, to is unchanged. Values are accurate
// to 1 part in 2,048. A Record concurrent with Next belongs to this window or
// the next. Next panics unless every q is from 0 to 1 and to is as long as q.
func (w *Window) Next(q []float64, to []time.Duration) (count uint64) {
	if len(q) != len(to) {
		panic("latency: Window.Next: q and to differ in length; want one place for each fraction")
	}
	for i, share := range q {
		if !(share >= 0 && share <= 1) || i > 0 && share < q[i-1] {
			panic("latency: Window.Next: want fractions from 0 to 1, in ascending order")
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

// turn closes the window and begins the next. After a Reset the Recorder has
// other shards, and all that they hold is new.
func (w *Window) turn() (count uint64) {
	shards := *w.r.table.Load()
	for _, s := range shards {
		if least, most := atomic.LoadUint64(&s.min), atomic.LoadUint64(&s.max); least <= most {
			w.from, w.to = min(w.from, bucketOf(least)), max(w.to, bucketOf(most)+1)
		}
	}
	if w.from >= w.to {
		return 0 // nothing was ever recorded
	}
	now, seen := w.now[w.from:w.to], w.seen[w.from:w.to]
	clear(now)
	for _, s := range shards {
		for i := range now {
			now[i] += atomic.LoadUint64(&s.counts[w.from+i])
		}
	}
	reset := w.first != shards[0]
	w.first = shards[0]
	for i, n := range now {
		if !reset {
			now[i] -= seen[i]
		}
		seen[i] = n
		count += now[i]
	}
	return count
}
