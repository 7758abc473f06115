package gcctl

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// An engine is the garbage collector under control. Only the controller's
// goroutines call it.
type engine interface {
	read(*sample)
	setPercent(int) int   // like debug.SetGCPercent
	setLimit(int64) int64 // like debug.SetMemoryLimit
	collect()             // like runtime.GC
}

// A sample is the runtime's state at one moment. The CPU times are as of the
// end of the last collection.
type sample struct {
	cycles, automatic     uint64
	pauses                uint64 // of the world for collections: one at the start, one at the end
	heap, live, goal      int64
	stacks, globals       int64
	allocs                int64 // bytes ever allocated
	total, released, free int64
	percent               int
	limit                 int64
	gcCPU, markIdleCPU    float64 // seconds
	totalCPU, idleCPU     float64
}

// memory is what the runtime's limit applies to.
func (s *sample) memory() int64 { return s.total - s.released }

// overhead is the memory that does not hold objects: it counts against the
// limit, and collecting does not reduce it. Free spans do not count, because
// the runtime releases them on demand. Free slots between objects do count;
// they are fewest when the heap is full, before a sweep.
func (s *sample) overhead() int64 { return max(0, s.total-s.released-s.free-s.heap) }

// collectorCPU and usedCPU exclude marking on otherwise idle Ps.
func (s *sample) collectorCPU() float64 { return s.gcCPU - s.markIdleCPU }
func (s *sample) usedCPU() float64      { return s.totalCPU - s.idleCPU - s.markIdleCPU }

// realRuntime is the engine of this process.
//
// It is polled. Other controllers use a finalizer or cleanup that runs after
// each collection. On a busy program that runs late, because its goroutine
// waits for a P like any other, and it says nothing between collections, when a
// watchdog must look. metrics.Read is needed for the CPU times anyway and
// returns the number of collections in the same read. No metric says that a
// collection is running; but by then the world has been stopped once more than
// twice per completed collection.
type realRuntime struct {
	samples []metrics.Sample // owned by the caller of read
}

var metricNames = [...]string{
	"/gc/cycles/total:gc-cycles",
	"/gc/cycles/automatic:gc-cycles",
	"/memory/classes/heap/objects:bytes",
	"/gc/heap/live:bytes",
	"/gc/heap/goal:bytes",
	"/gc/scan/stack:bytes",
	"/gc/scan/globals:bytes",
	"/gc/heap/allocs:bytes",
	"/memory/classes/total:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/free:bytes",
	"/gc/gogc:percent",
	"/gc/gomemlimit:bytes",
	"/cpu/classes/gc/total:cpu-seconds",
	"/cpu/classes/gc/mark/idle:cpu-seconds",
	"/cpu/classes/total:cpu-seconds",
	"/cpu/classes/idle:cpu-seconds",
	"/sched/pauses/total/gc:seconds",
}

// Indexes in metricNames.
const (
	firstFloat  = 13 // of the first float
	pauseMetric = 17 // a histogram
)

func newRuntime() (*realRuntime, error) {
	r := &realRuntime{samples: make([]metrics.Sample, len(metricNames))}
	for i, name := range metricNames {
		r.samples[i].Name = name
	}
	metrics.Read(r.samples)
	for i := range r.samples {
		want := metrics.KindUint64
		switch {
		case i == pauseMetric:
			want = metrics.KindFloat64Histogram
		case i >= firstFloat:
			want = metrics.KindFloat64
		}
		if r.samples[i].Value.Kind() != want {
			return nil, fmt.Errorf("gcctl: Start: this Go runtime lacks the metric %s; update the module",
				metricNames[i])
		}
	}
	return r, nil
}

func (r *realRuntime) read(s *sample) {
	metrics.Read(r.samples)
	u := func(i int) int64 { return int64(r.samples[i].Value.Uint64()) }
	f := func(i int) float64 { return r.samples[i].Value.Float64() }
	*s = sample{
		cycles: uint64(u(0)), automatic: uint64(u(1)),
		heap: u(2), live: u(3), goal: u(4), stacks: u(5), globals: u(6), allocs: u(7),
		total: u(8), released: u(9), free: u(10),
		percent: int(int32(u(11))), limit: u(12),
		gcCPU: f(13), markIdleCPU: f(14), totalCPU: f(15), idleCPU: f(16),
	}
	for _, n := range r.samples[pauseMetric].Value.Float64Histogram().Counts {
		s.pauses += n
	}
	if s.goal < 0 { // GOGC is off and no limit is set
		s.goal = math.MaxInt64
	}
}

func (*realRuntime) setPercent(n int) int   { return debug.SetGCPercent(n) }
func (*realRuntime) setLimit(n int64) int64 { return debug.SetMemoryLimit(n) }
func (*realRuntime) collect()               { runtime.GC() }
