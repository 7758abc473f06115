// Package overcommit is for tests of what happens to lock-free structures when
// Go runs on more threads than there are CPUs. A thread that the system takes
// off its CPU in the midst of an operation holds up whoever spins for it, for
// whole time slices.
package overcommit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	factor = 4 // times as many Ps as CPUs
	// A turn is several time slices for each thread. Nothing counts before the
	// system has taken some thread off its CPU.
	before = 30 * time.Millisecond
	turn   = 70 * time.Millisecond
	turns  = 3
)

// Collapse is a cost far above what yielding where a peer parks explains, and
// far below that of waiting for the system to run one thread in particular.
const Collapse = 100

// A Worker does operations until over becomes true, and counts them. One is
// started for each P; number counts those from 0.
type Worker func(number int, operations *atomic.Int64, over *atomic.Bool)

// Cost is how many times as long an operation of ours takes as one of a peer
// whose waiters park, such as a channel, with four times as many Ps as CPUs. The
// two take turns, so that other load on the machine hits both. With the checks
// of a race or debug build, which slow ours alone, it says nothing.
func Cost(ours, parking Worker) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(factor * runtime.NumCPU()))
	var rates [2]float64
	for range turns {
		rates[0] += rate(ours)
		rates[1] += rate(parking)
	}
	return rates[1] / rates[0]
}

// rate is how many operations the workers do per second.
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
	<-time.After(before)
	began, first := time.Now(), sum()
	<-time.After(turn)
	n, elapsed := sum()-first, time.Since(began)
	over.Store(true)
	all.Wait()
	return float64(n) / elapsed.Seconds()
}
