package latency

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A Recorder collects durations from any number of goroutines. It keeps one
// shard for each P of the Go scheduler (there are GOMAXPROCS of them), about
// 280 KB each. Create one with [NewRecorder]; it must not be copied.
//
// A Record that happens before a Snapshot is in it.
type Recorder struct {
	// table publishes the shards, one per P. Shards are only ever added to a
	// table by replacing it; Reset replaces all.
	table atomic.Pointer[[]*shard]
	// mu guards the replacement of table.
	mu sync.Mutex
}

// A shard is what one P recorded. The goroutine pinned to that P is its only
// writer; Snapshot reads beside it, atomically. A shard fills whole pages, so
// no two share a cache line.
type shard struct {
	// v-min < width holds for every v that needs no more than its bucket and
	// the sum updated. width is 0 while values are kept as they are, which
	// sends each of them the long way; later it is max-min+1.
	width    uint64
	min, max uint64
	sum      uint128
	// exact holds the first exactLimit values; kept counts them, and stands
	// at exactLimit+1 when there were more. Storing kept publishes the value
	// below it.
	kept   uint64
	exact  [exactLimit]uint64
	counts [numBuckets]uint64
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	r := new(Recorder)
	r.Reset()
	return r
}

func newShards(n int) []*shard {
	shards := make([]*shard, n)
	for i := range shards {
		shards[i] = &shard{min: math.MaxUint64}
	}
	return shards
}

// Record adds one duration. Below 0 it counts as 0, above [Max] as Max. It
// does not block, and allocates only on a P that GOMAXPROCS has added since
// NewRecorder or Reset.
func (r *Recorder) Record(d time.Duration) {
	v := uint64(d)
	id := procpin.Pin()
	shards := *r.table.Load()
	for id >= len(shards) {
		procpin.Unpin()
		r.grow()
		id = procpin.Pin()
		shards = *r.table.Load()
	}
	s := shards[id]
	if v-load(&s.min) >= load(&s.width) {
		v = s.widen(d)
	}
	increase128(&s.sum, v)
	increase(&s.counts[bucketOf(v)])
	procpin.Unpin()
}

// widen prepares s for a value that is out of its range, or that it keeps as
// it is, and returns that value.
func (s *shard) widen(d time.Duration) uint64 {
	v := clamp(d)
	atomic.StoreUint64(&s.min, min(atomic.LoadUint64(&s.min), v))
	atomic.StoreUint64(&s.max, max(atomic.LoadUint64(&s.max), v))
	kept := atomic.LoadUint64(&s.kept)
	if kept < exactLimit {
		atomic.StoreUint64(&s.exact[kept], v)
		atomic.StoreUint64(&s.kept, kept+1)
		return v
	}
	atomic.StoreUint64(&s.kept, exactLimit+1)
	atomic.StoreUint64(&s.width, atomic.LoadUint64(&s.max)-atomic.LoadUint64(&s.min)+1)
	return v
}

// grow adds shards for Ps that have none.
func (r *Recorder) grow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	shards := *r.table.Load()
	missing := runtime.GOMAXPROCS(0) - len(shards)
	if missing <= 0 {
		return
	}
	grown := append(shards[:len(shards):len(shards)], newShards(missing)...)
	r.table.Store(&grown)
}

// Reset forgets everything recorded before it. A Record that runs beside Reset
// is forgotten or kept, as a whole. Reset allocates new shards.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	shards := newShards(runtime.GOMAXPROCS(0))
	r.table.Store(&shards)
}

// Snapshot returns all that was recorded since NewRecorder or the last Reset.
// A Record that runs beside Snapshot may be in it or not; where such a one is
// caught half done, the mean may miss it by as much as the buckets' width
// allows.
func (r *Recorder) Snapshot() *Histogram {
	shards := *r.table.Load()
	if h := exactSnapshot(shards); h != nil {
		return h
	}
	h := &Histogram{min: math.MaxUint64, counts: new([numBuckets]uint64)}
	for _, s := range shards {
		for i := range s.counts {
			h.counts[i] += atomic.LoadUint64(&s.counts[i])
		}
		h.min = min(h.min, atomic.LoadUint64(&s.min))
		h.max = max(h.max, atomic.LoadUint64(&s.max))
		h.sum = h.sum.add(uint128{atomic.LoadUint64(&s.sum.hi), atomic.LoadUint64(&s.sum.lo)})
	}
	h.settle()
	return h
}

// exactSnapshot returns the values as they were recorded, or nil if there are
// too many for that.
func exactSnapshot(shards []*shard) *Histogram {
	h := new(Histogram)
	for _, s := range shards {
		kept := atomic.LoadUint64(&s.kept)
		if uint64(len(h.exact))+kept > exactLimit {
			return nil
		}
		for i := range s.exact[:kept] {
			v := atomic.LoadUint64(&s.exact[i])
			h.exact = append(h.exact, v)
			h.note(v, v, 1, uint128{lo: v})
		}
	}
	slices.Sort(h.exact)
	return h
}
