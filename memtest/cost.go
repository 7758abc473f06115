package memtest

import (
	"runtime"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Cost is what one call of a function allocates on the heap, on average.
type Cost struct {
	Allocs float64
	Bytes  float64
}

// Measure returns the allocations of a call of f: the least of several rounds
// of calls, for each figure separately.
func Measure(f func()) Cost { return measure(f, func(Cost) bool { return false }) }

// Allocs fails the test if a call of f allocates more than limit objects.
func Allocs(t testing.TB, limit float64, f func()) {
	t.Helper()
	got := measure(f, func(c Cost) bool { return c.Allocs <= limit })
	hold(t, "Allocs", "objects", got.Allocs, limit)
}

// Bytes fails the test if a call of f allocates more than limit bytes.
func Bytes(t testing.TB, limit float64, f func()) {
	t.Helper()
	got := measure(f, func(c Cost) bool { return c.Bytes <= limit })
	hold(t, "Bytes", "bytes", got.Bytes, limit)
}

func hold(t testing.TB, helper, unit string, got, limit float64) {
	t.Helper()
	switch {
	case invariant.Race:
		t.Logf("memtest: %s: %.4g %s a call, limit %.4g; not held to it under the race detector", helper, got, unit, limit)
	case got > limit:
		t.Errorf("memtest: %s: a call allocates %.4g %s, limit %.4g; find the line with go test -memprofile, or raise the "+
			"limit on purpose", helper, got, unit, limit)
	}
}

const (
	rounds       = 20                   // at most, if none is good enough
	roundTime    = time.Millisecond     // target length of a round
	roundCalls   = 1000                 // most calls in a round
	roundsAtMost = 2 * time.Second      // no further round starts after this
	pause        = 2 * time.Millisecond // between rounds: lets other goroutines finish
)

// measure runs rounds of calls until one is good enough and returns the least
// figures. First it makes one uncounted call, then one timed call.
func measure(f func(), enough func(Cost) bool) Cost {
	f()
	begin := time.Now()
	f()
	calls := roundCalls
	if once := time.Since(begin); once > 0 {
		calls = int(min(max(roundTime/once, 1), roundCalls))
	}
	var least Cost
	for i := range rounds {
		c := round(f, calls)
		if i == 0 {
			least = c
		}
		least = Cost{min(least.Allocs, c.Allocs), min(least.Bytes, c.Bytes)}
		if enough(least) || time.Since(begin) > roundsAtMost {
			break
		}
		time.Sleep(pause)
	}
	return least
}

// round reads the counters before and after some calls. Reading them stops the
// world and flushes the caches of every P, so they are exact.
func round(f func(), calls int) Cost {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return Cost{
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(calls),
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(calls),
	}
}
