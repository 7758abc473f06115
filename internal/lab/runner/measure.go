package runner

import (
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/base/rusage"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// Names of runtime/metrics that are read before and after the measured phase.
const (
	pausesMetric = "/sched/pauses/total/gc:seconds"
	schedMetric  = "/sched/latencies:seconds"
	cyclesMetric = "/gc/cycles/total:gc-cycles"
	forcedMetric = "/gc/cycles/forced:gc-cycles"
	liveMetric   = "/gc/heap/live:bytes"
	heapMetric   = "/memory/classes/heap/objects:bytes"
	goalMetric   = "/gc/heap/goal:bytes"
	sysMetric    = "/memory/classes/total:bytes"
)

// cpuMetrics maps the classes of CPU time to their names in a record.
var cpuMetrics = map[string]string{
	"/cpu/classes/gc/mark/assist:cpu-seconds":    cell.GCCPUAssist,
	"/cpu/classes/gc/mark/dedicated:cpu-seconds": cell.GCCPUDedicated,
	"/cpu/classes/gc/mark/idle:cpu-seconds":      cell.GCCPUIdle,
	"/cpu/classes/gc/pause:cpu-seconds":          cell.GCCPUPause,
	"/cpu/classes/gc/total:cpu-seconds":          cell.GCCPUTotal,
	"/cpu/classes/scavenge/total:cpu-seconds":    cell.GCCPUScavenge,
}

// measure runs the measured phase and records everything that does not depend
// on the kind of task. CPU classes advance only at the end of a GC cycle: the
// collection forced before the phase brings them up to date, and they miss the
// cycle that the end of the phase interrupts. The phase's error is returned
// after the figures are recorded.
func measure(rec *cell.Record, profiles profileSet, phase func() error) error {
	stopProfiles, err := profiles.start(rec)
	if err != nil {
		return err
	}
	runtime.GC()
	peakReset := host.ResetPeakRSS()
	before := takeSnapshot()
	s := startSampler(before.at, sampleInterval)
	profiles.slow.begin()
	phaseErr := phase()
	profiles.slow.end()
	after := takeSnapshot()
	s.stop(rec)
	peak, ok := host.PeakRSSBytes(os.Getpid())
	before.figures(rec, after)
	if ok {
		rec.Set(cell.RSSPeak, float64(peak))
		if !peakReset {
			rec.Warn("rss-whole", "peak resident memory includes setup before the measured phase")
		}
	}
	if err := stopProfiles(); err != nil {
		rec.Warn("profile", "%v", err)
	}
	return phaseErr
}

// A snapshot is the state of everything reported as a difference.
type snapshot struct {
	at     time.Time
	usage  rusage.Usage
	values map[string]metrics.Value
	paused time.Duration // by all collections so far
	last   time.Duration // the latest pause, 0 if there was none
}

func takeSnapshot() *snapshot {
	names := []string{pausesMetric, schedMetric, cyclesMetric, forcedMetric, liveMetric, heapMetric}
	names = slices.AppendSeq(names, maps.Keys(cpuMetrics))
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	s := &snapshot{values: make(map[string]metrics.Value, len(names))}
	metrics.Read(samples)
	for _, sample := range samples {
		s.values[sample.Name] = sample.Value
	}
	var gc debug.GCStats // not kept: the collector would mark its pointer per pause
	debug.ReadGCStats(&gc)
	s.paused = gc.PauseTotal
	if len(gc.Pause) > 0 {
		s.last = gc.Pause[0]
	}
	s.usage = rusage.Self()
	s.at = time.Now()
	return s
}

// number returns a scalar metric.
func (s *snapshot) number(name string) float64 {
	if v := s.values[name]; v.Kind() == metrics.KindUint64 {
		return float64(v.Uint64())
	}
	return s.values[name].Float64()
}

// figures records the changes between s and after.
func (s *snapshot) figures(rec *cell.Record, after *snapshot) {
	rec.Set(cell.WallTime, after.at.Sub(s.at).Seconds())
	used := after.usage.Since(s.usage)
	total := used.CPU()
	if total >= 0 {
		rec.Set(cell.UserCPU, used.User)
		rec.Set(cell.SystemCPU, used.System)
		rec.Set(cell.TotalCPU, total)
	}
	if used.MinorFaults >= 0 {
		rec.Set(cell.MinorFaults, used.MinorFaults)
		rec.Set(cell.MajorFaults, used.MajorFaults)
	}
	diff := func(name, metric string) float64 {
		n := max(after.number(name)-s.number(name), 0)
		rec.Set(metric, n)
		return n
	}
	cycles := diff(cyclesMetric, cell.GCCycles)
	diff(forcedMetric, cell.GCForced)
	for name, metric := range cpuMetrics {
		diff(name, metric)
	}
	if total > 0 {
		rec.Set(cell.GCCPUShare, min(rec.Metrics[cell.GCCPUTotal]/total, 1))
	}
	rec.Set(cell.HeapLive, after.number(liveMetric))
	rec.Set(cell.HeapEnd, after.number(heapMetric))
	// The runtime keeps the sum of all pauses separately from its ring of the
	// latest 256: it is exact, while the histogram has only buckets.
	rec.Set(cell.GCPauseTotal, (after.paused - s.paused).Seconds())
	if cycles > 0 {
		rec.Set(cell.GCPauseLast, after.last.Seconds())
	}
	rec.Buckets = map[string]cell.Buckets{}
	for metric, name := range map[string]string{pausesMetric: cell.HistPause, schedMetric: cell.HistSched} {
		rec.Buckets[name] = sparse(s.values[metric].Float64Histogram(), after.values[metric].Float64Histogram())
	}
	if upper := rec.Buckets[cell.HistPause].Upper; len(upper) > 0 {
		rec.Set(cell.GCPauseMax, upper[len(upper)-1])
	}
}

// sparse returns the increase of a histogram, without empty buckets.
func sparse(before, after *metrics.Float64Histogram) cell.Buckets {
	var b cell.Buckets
	for i, n := range after.Counts {
		n -= before.Counts[i]
		if n == 0 {
			continue
		}
		lower, upper := after.Buckets[i], after.Buckets[i+1]
		if math.IsInf(lower, -1) {
			lower = upper
		}
		if math.IsInf(upper, 1) {
			upper = lower
		}
		b.Lower = append(b.Lower, lower)
		b.Upper = append(b.Upper, upper)
		b.Count = append(b.Count, n)
	}
	return b
}

// allocation counts everything ever allocated on the heap.
type allocation struct{ bytes, objects uint64 }

// allocated reads the counts as package testing does: stopping the world makes
// them exact. In runtime/metrics the same counts lag by what each P has not
// reported yet.
//
// Inlined, it would add 6 KB of stack below the loop, which the collector scans.
//
//go:noinline
func allocated() allocation {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return allocation{m.TotalAlloc, m.Mallocs}
}

// setAllocs records the allocation per operation since before.
func setAllocs(rec *cell.Record, before allocation, ops int64) {
	if ops > 0 {
		now := allocated()
		rec.Set(cell.OpBytes, float64(now.bytes-before.bytes)/float64(ops))
		rec.Set(cell.OpAllocs, float64(now.objects-before.objects)/float64(ops))
	}
}
