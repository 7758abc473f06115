package pool

import (
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// Stats are a pool's figures since it was made.
//
// An object made by New or Warm is in use, idle, evicted or discarded: Misses +
// Warmed = InUse + Idle + Evicted + Discarded. Objects that are never given
// back count as in use forever. Under the isobar_nostats tag Hits, InUse and
// Evicted are 0. On 32-bit platforms Hits wraps around.
type Stats struct {
	Hits      uint64 // Gets served by an idle object
	Misses    uint64 // Gets served by a new object
	Warmed    uint64 // objects made by Warm
	InUse     int64  // objects taken and not given back
	Idle      int64  // objects ready to be taken
	IdleBytes int64  // their memory; for a Pool the T alone, without the memory it points to
	Evicted   uint64 // idle objects dropped by collections or age
	Discarded uint64 // objects given back and not kept
	Oversize  uint64 // Gets of Bytes beyond the largest class, served by the heap and not counted elsewhere

	// Shares is how often a Bounded pool stopped the world, for tens of microseconds
	// (BenchmarkShare), so that a P could take objects that another had put. Stops become ever rarer.
	Shares uint64

	puts uint64
}

// HitRate is the fraction of Gets served by an idle object, 0 to 1. It is 0
// before the first Get.
func (s Stats) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

// Figures calls add for each figure that a page of package monitor shows, in a
// fixed order. The key ends with the unit, as in runtime/metrics. Figures with
// the same chart share one chart; a counter only grows.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	add("/pool/hits:gets", "Pool", "Gets served by an idle object.", true, float64(s.Hits))
	add("/pool/misses:gets", "Pool", "Gets served by a new object.", true, float64(s.Misses))
	add("/pool/in-use:objects", "Pool: objects", "Objects taken and not given back.", false, float64(s.InUse))
	add("/pool/idle:objects", "Pool: objects", "Objects ready to be taken.", false, float64(s.Idle))
}

// derive computes the fields that follow from the counts.
func (s *Stats) derive() {
	if !counting {
		s.Hits = 0
		return
	}
	s.InUse = max(0, int64(s.Hits+s.Misses-s.puts))
	s.Evicted = uint64(max(0, int64(s.Misses+s.Warmed-s.Discarded)-s.InUse-s.Idle))
}

// addIdle adds the counts of one cache or stock and its idle objects.
func (s *Stats) addIdle(c count, idle int, size int64) {
	s.Hits += uint64(c.hits)
	s.puts += uint64(c.puts)
	s.Idle += int64(idle)
	s.IdleBytes += int64(idle) * size
}

// A tally counts rare events, and may be shared by all Ps.
type tally struct {
	misses, warmed, discarded, dropped atomic.Uint64
}

// drop counts n objects that a holder gave back and the pool did not examine:
// they are discarded, and no other count of Puts includes them.
func (t *tally) drop(n uint64) {
	t.discarded.Add(n)
	t.dropped.Add(n)
}

func (t *tally) addTo(s *Stats) {
	s.Misses += t.misses.Load()
	s.Warmed += t.warmed.Load()
	s.Discarded += t.discarded.Load()
	s.puts += t.dropped.Load()
}

// A count is written with plain stores by the P that owns it, while pinned. It
// is a machine word, so a concurrent reader gets some value that was written
// (see "Programs containing data races" in the Go memory model). Race builds
// use atomic operations instead.
type count struct {
	hits, puts uintptr
}

func (c *count) hit() {
	if counting {
		increment(&c.hits)
	}
}

func (c *count) put() {
	if counting {
		increment(&c.puts)
	}
}

func increment(n *uintptr) {
	if invariant.Race {
		atomic.AddUintptr(n, 1)
	} else {
		*n++
	}
}

func (c *count) add(d *count) {
	c.hits += atomic.LoadUintptr(&d.hits)
	c.puts += atomic.LoadUintptr(&d.puts)
}
