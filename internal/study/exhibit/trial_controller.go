package exhibit

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// countingController is the part of the controller of seed document 000, step 7, that has its
// races: a count of callers who want the collector off, and calls that turn it on for a while.
type countingController struct {
	percent int          // GOGC at the start
	off     atomic.Int32 // callers who want the collector off
}

func newCountingController() *countingController {
	return &countingController{percent: debug.SetGCPercent(100)}
}

func (c *countingController) disable() {
	if c.off.Add(1) == 1 {
		debug.SetGCPercent(-1)
	}
}

func (c *countingController) enable() {
	if c.off.Add(-1) == 0 {
		debug.SetGCPercent(c.percent)
	}
}

// force is ForceGC; with run instead of the collection it is EnableGCDuring.
func (c *countingController) force(run func()) {
	wasOff := c.off.Load() > 0
	if wasOff {
		debug.SetGCPercent(c.percent)
	}
	run()
	if wasOff {
		debug.SetGCPercent(-1)
	}
}

// heapOf returns a heap of the given size, in objects of 128 bytes.
func heapOf(bytes int) *workload.TreeStore {
	return workload.NewLiveHeap(bytes, rand.New(rand.NewPCG(1, 1)))
}

// trialForceBesideEnable counts how often the collector stays off when the last
// section ends during a forced collection.
func trialForceBesideEnable(n int, _ *cell.Record) int {
	live := heapOf(8 << 20)
	defer runtime.KeepAlive(live)
	return besideEnable(n, func(started func(), _ <-chan struct{}) { started(); runtime.GC() })
}

// trialDuringBesideEnable is the same with EnableGCDuring, whose function ends
// after the section.
func trialDuringBesideEnable(n int, _ *cell.Record) int {
	return besideEnable(n, func(started func(), enabled <-chan struct{}) { started(); <-enabled })
}

func besideEnable(n int, run func(started func(), enabled <-chan struct{})) (hits int) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for range n {
		debug.SetGCPercent(100)
		c := newCountingController()
		c.disable()
		started, enabled, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			c.force(func() { run(func() { close(started) }, enabled) })
			close(ended)
		}()
		<-started
		c.enable()
		close(enabled)
		<-ended
		if workload.GOGC() < 0 { // no caller wants it off
			hits++
		}
	}
	return hits
}

// trialControllerEnv counts how often GOGC equals the environment's value while
// an unused controller exists.
func trialControllerEnv(n int, _ *cell.Record) (hits int) {
	const env = 250
	defer debug.SetGCPercent(debug.SetGCPercent(env))
	for range n {
		debug.SetGCPercent(env)
		newCountingController()
		if workload.GOGC() == env {
			hits++
		}
	}
	return hits
}

// trialGCWhileOff counts how often runtime.GC collects while GOGC is off.
func trialGCWhileOff(n int, _ *cell.Record) (hits int) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var stats runtime.MemStats
	for range n {
		runtime.ReadMemStats(&stats)
		cycles := stats.NumGC
		runtime.GC()
		if runtime.ReadMemStats(&stats); stats.NumGC > cycles {
			hits++
		}
	}
	return hits
}

// trialOffWhileMarking counts how often turning the collector off during a
// collection takes more than a tenth of that collection. It reports both times.
func trialOffWhileMarking(n int, rec *cell.Record) (hits int) {
	live := heapOf(128 << 20)
	defer runtime.KeepAlive(live)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var calls, cycles time.Duration
	for range n {
		debug.SetGCPercent(100)
		runtime.GC()
		began := time.Now()
		var cycle sync.WaitGroup
		cycle.Go(runtime.GC)
		for time.Since(began) <= time.Millisecond { // by then it must have begun
			runtime.Gosched()
		}
		called := time.Now()
		debug.SetGCPercent(-1)
		call := time.Since(called)
		cycle.Wait()
		took := time.Since(began)
		calls, cycles = calls+call, cycles+took
		if call > took/10 {
			hits++
		}
	}
	rec.Set("/trial/call:ns", float64(calls)/float64(n))
	rec.Set("/trial/cycle:ns", float64(cycles)/float64(n))
	return hits
}

// trialPercentLeak counts how often GOGC has changed after a benchmark function
// like the document's, which sets 100 and restores nothing.
func trialPercentLeak(n int, _ *cell.Record) (hits int) {
	defer debug.SetGCPercent(debug.SetGCPercent(250))
	for range n {
		debug.SetGCPercent(250)
		func() { // BenchmarkWithGC
			debug.SetGCPercent(100)
			runtime.GC()
		}()
		func() { // BenchmarkWithoutGC
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			runtime.GC()
		}()
		if workload.GOGC() != 250 {
			hits++
		}
	}
	return hits
}
