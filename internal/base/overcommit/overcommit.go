// Package overcommit tests lock-free structures when Go runs on more threads than there are
// CPUs. A thread that the system preempts in the middle of an operation delays whoever
// spins for it, for whole time slices.
package overcommit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/rusage"
)

const (
	factor = 4 // times as many Ps as CPUs
	// A turn is several time slices for each thread. Counting starts only after the system
	// has preempted some thread.
	before = 30 * time.Millisecond
	turn   = 70 * time.Millisecond
	turns  = 3
)

// collapse is a cost far above that of yielding where a peer parks, and far below that of
// waiting until the system runs one particular thread.
const collapse = 100

// A Worker does operations until over becomes true, and counts them. One is started per P;
// number numbers them from 0.
type Worker func(number int, operations *atomic.Int64, over *atomic.Bool)

// Check fails a test if an operation of ours costs far more than one of a peer whose
// waiters park, such as a channel, with more Ps than CPUs. It skips the test under -short,
// and in builds whose checks slow only ours.
func Check(t testing.TB, what string, ours, parking Worker) {
	t.Helper()
	if testing.Short() || invariant.Enabled {
		t.Skip("takes seconds; and checks slow our side alone. The unit tests run it")
	}
	cost := cost(ours, parking)
	t.Logf("%s: %.2f", what, cost)
	if cost > collapse {
		t.Errorf("%s costs %.1f times as much as with a channel in its place, with more Ps than CPUs", what, cost)
	}
}

// cost returns how many times as long an operation of ours takes as one of a peer, with four
// times as many Ps as CPUs. The two take turns, so that other load on the machine affects both.
func cost(ours, parking Worker) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(factor * runtime.NumCPU()))
	var rates [2]float64
	for range turns {
		rates[0] += rate(ours)
		rates[1] += rate(parking)
	}
	return rates[1] / rates[0]
}

// run lets the workers run until they have used d of CPU time, however long that takes
// beside other programs: before all have run, a single one has nobody to spin for.
func run(d time.Duration) {
	began := rusage.Self()
	for used := 0.0; used >= 0 && used < d.Seconds(); used = rusage.Self().Since(began).CPU() {
		<-time.After(d)
	}
}

// rate returns the workers' operations per second.
func rate(worker Worker) float64 {
	counts := make([]struct {
		operations atomic.Int64
		_          [120]byte // keeps workers off each other's cache lines
	}, runtime.GOMAXPROCS(0))
	sum := func() (n int64) {
		for i := range counts {
			n += counts[i].operations.Load()
		}
		return n
	}
	var over atomic.Bool
	var all sync.WaitGroup
	for number := range counts {
		all.Go(func() { worker(number, &counts[number].operations, &over) })
	}
	run(before)
	began, first := time.Now(), sum()
	run(turn)
	n, elapsed := sum()-first, time.Since(began)
	over.Store(true)
	all.Wait()
	return float64(n) / elapsed.Seconds()
}
