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
// 280 KB each. Create one with [NewRecorder]; the zero value is not usable, and
// a Recorder must not be copied.
//
// A Snapshot includes every Record that happens before it.
type Recorder struct {
	// table publishes the shards, one per P. To add shards, grow replaces the
	// table; Reset replaces all shards.
	table atomic.Pointer[[]*shard]
	// mu guards the replacement of table.
	mu sync.Mutex
}

// A shard holds the durations of one P. The goroutine pinned to that P is its
// only writer; Snapshot reads it concurrently. A shard fills whole pages, so no
// two share a cache line.
type shard struct {
	// v-min < width holds for every v that only updates its bucket and the sum.
	// width is 0 while values are kept exactly, which sends all of them down the
	// slow path; later it is max-min+1.
	width    uint64
	min, max uint64
	sum      uint128
	// exact holds the first exactLimit values. kept counts them, and stays at
	// exactLimit+1 once there are more. Storing kept publishes the value below it.
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

// Record adds one duration. Below 0 it counts as 0, above [Max] as Max. It does
// not block. It allocates only on a P that GOMAXPROCS has added since
// NewRecorder or Reset.
func (r *Recorder) Record(d time.Duration) {
	v := uint64(d)
	shards := *r.table.Load() // not while pinned, where the panic of a zero Recorder would end the process
	id := procpin.Pin()
	for id >= len(shards) {
		procpin.Unpin()
		r.grow()
		shards = *r.table.Load()
		id = procpin.Pin()
	}
	s := shards[id]
	if v-load(&s.min) >= load(&s.width) {
		v = s.widen(d)
	}
	increase128(&s.sum, v)
	increase(&s.counts[bucketOf(v)])
	procpin.Unpin()
}

// widen prepares s for a value that is out of its range or kept exactly, and
// returns that value.
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

// grow adds the missing shards of new Ps.
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

// Reset forgets everything recorded before it. A concurrent Record is kept or
// forgotten as a whole. Reset allocates new shards.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	shards := newShards(runtime.GOMAXPROCS(0))
	r.table.Store(&shards)
}

// Snapshot returns everything recorded since NewRecorder or the last Reset. It
// may or may not include a concurrent Record; if it catches one half done, the
// mean may be off by that value's bucket width.
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

// exactSnapshot returns the exact values, or nil if there are too many.
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
