package gcctl

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// Three controllers are rebuilt from what they publish, because the module proxy
// refuses github.com/cch123/gogctuner, github.com/pingcap/tidb and
// github.com/newcloudtechnologies/memlimiter. TiDB's tuner would also bring the
// database: it imports pkg/util and pkg/util/memory, and the go.mod replaces
// the parser by a directory, which whoever requires it would have to repeat.

// afterCycles calls f after each collection, as gogctuner and TiDB learn of it:
// by the finalizer of an object that nothing holds.
func afterCycles(f func()) {
	type object struct{ _ *object }
	var finalizer func(*object)
	finalizer = func(o *object) {
		f()
		runtime.SetFinalizer(o, finalizer)
	}
	runtime.SetFinalizer(new(object), finalizer)
}

// gogctuner is the tuner of "How We Saved 70K Cores Across 30 Mission-Critical
// Services" (Uber, 2021): the live heap and GOGC percent of it are to be 70 % of
// the limit.
func gogctuner() {
	previous := 100.0
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	afterCycles(func() {
		metrics.Read(live)
		previous = float64(debug.SetGCPercent(gogctunerPercent(float64(live[0].Value.Uint64()), previous)))
	})
}

// gogctunerPercent returns GOGC for a live heap. The article does not say what
// it is for one above 70 % of the limit; cch123/gogctuner, which follows the
// article, lowers the one before.
func gogctunerPercent(live, previous float64) int {
	const target = budget / 10 * 7
	percent := (target - live) / live * 100
	if percent < 0 {
		percent = previous * target / live
	}
	return max(int(percent), 1)
}

// A tidb is the package gctuner of TiDB, with the budget as the server's memory
// limit and all else as TiDB sets it.
type tidb struct {
	byLimit bool // GOMEMLIMIT, not GOGC, ends the cycle that goes on
}

const (
	tidbThreshold = budget / 10 * 6  // tidb_gogc_tuner_threshold: where GOGC is to end a cycle
	tidbLimit     = budget / 10 * 7  // tidb_server_memory_limit_gc_trigger: GOMEMLIMIT
	tidbRaised    = budget / 10 * 11 // GOMEMLIMIT for a minute, after two cycles that it ended
)

func tidbTuner() {
	var t tidb
	var raised atomic.Bool
	percent := 100
	debug.SetMemoryLimit(tidbLimit)
	afterCycles(func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		var raise bool
		percent, raise = t.cycle(float64(m.HeapInuse), percent, float64(debug.SetMemoryLimit(-1)))
		if raise && raised.CompareAndSwap(false, true) {
			debug.SetMemoryLimit(tidbRaised)
			time.AfterFunc(time.Minute, func() {
				debug.SetMemoryLimit(tidbLimit)
				raised.Store(false)
			})
		}
		debug.SetGCPercent(percent)
	})
}

// cycle returns GOGC after a collection that left inUse bytes, and whether the
// limit is to be raised.
func (t *tidb) cycle(inUse float64, percent int, limit float64) (next int, raise bool) {
	byLimit := inUse*float64(100+percent)/100 > limit
	raise = byLimit && t.byLimit
	t.byLimit = byLimit
	return int(min(max((tidbThreshold-inUse)/inUse*100, 100), 500)), raise
}

// A memLimiter is the controller of memlimiter as the example of its README sets
// it, without the middleware that refuses requests: here every side does all of
// the work. It reads the goal of the heap each second.
type memLimiter struct {
	mean float64 // of the control value, weighted exponentially; 0 before the first reading
}

func memlimiter() {
	debug.SetMemoryLimit(budget / 10 * 8)
	go func() {
		var l memLimiter
		for range time.Tick(time.Second) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			debug.SetGCPercent(l.percent(float64(m.NextGC)))
		}
	}()
}

// percent returns GOGC for a goal of the heap: less than 100 from half of the
// budget on.
func (l *memLimiter) percent(goal float64) int {
	const window, coefficient, least = 20, 1, 10
	used, value := goal/budget, 100.0
	if used < 1 {
		value = coefficient / (1 - used)
	}
	if l.mean == 0 {
		l.mean = value
	}
	l.mean += (value - l.mean) * 2 / (window + 1)
	if used < 0.5 {
		return 100
	}
	return max(100-int(math.Round(min(l.mean, 99))), least)
}

// What was rebuilt does what its source says.
func TestRebuilt(t *testing.T) {
	for _, c := range []struct {
		live, previous float64
		want           int
	}{{42e6, 100, 900}, {210e6, 100, 100}, {400e6, 100, 5}, {420e6, 100, 1}, {600e6, 100, 70}} {
		if got := gogctunerPercent(c.live, c.previous); got != c.want {
			t.Errorf("gogctuner: GOGC %d of %v bytes after %v, want %d", got, c.live, c.previous, c.want)
		}
	}
	var db tidb
	for i, c := range []struct {
		inUse   float64
		percent int
		want    int
		raise   bool
	}{
		{40e6, 100, 500, false}, {120e6, 500, 200, false}, {120e6, 500, 200, true}, {120e6, 200, 200, false},
		{400e6, 100, 100, false},
	} {
		if got, raise := db.cycle(c.inUse, c.percent, tidbLimit); got != c.want || raise != c.raise {
			t.Errorf("TiDB, cycle %d: GOGC %d, raised %v; want %d, %v", i, got, raise, c.want, c.raise)
		}
	}
	var l memLimiter
	if got := l.percent(100e6); got != 100 {
		t.Errorf("memlimiter: GOGC %d below half of the budget, want 100", got)
	}
	for range 200 {
		l.percent(400e6)
	}
	if got := l.percent(400e6); got != 97 {
		t.Errorf("memlimiter: GOGC %d at two thirds of the budget, want 100 - 1/(1-2/3)", got)
	}
	for range 200 {
		l.percent(800e6)
	}
	if got := l.percent(800e6); got != 10 {
		t.Errorf("memlimiter: GOGC %d beyond the budget, want 10", got)
	}
}
