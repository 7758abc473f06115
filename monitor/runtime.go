package monitor

import (
	"math"
	"os"
	"runtime/metrics"
)

// The charts of the runtime's own figures, in the order of the page.
const (
	chartHeap    = "Heap"
	chartMapped  = "Memory of the process"
	chartPauses  = "GC pauses"
	chartGCCPU   = "CPU time of the collector"
	chartBytes   = "Allocation"
	chartSizes   = "Objects allocated, by size"
	chartSched   = "Waiting for a CPU"
	chartRoutine = "Goroutines"
	chartCycles  = "Collections"
)

// A reading is a figure that runtime/metrics reports as a number.
type reading struct {
	metric string
	Figure
}

var readings = []reading{
	{"/memory/classes/heap/objects:bytes",
		Figure{Key: "/heap/objects:bytes", Help: "Objects: live, or dead and not yet swept.", Chart: chartHeap}},
	{"/gc/heap/live:bytes",
		Figure{Key: "/heap/live:bytes", Help: "Objects marked by the last collection.", Chart: chartHeap}},
	{"/gc/heap/goal:bytes",
		Figure{Key: "/heap/goal:bytes", Help: "Heap size at which a collection should end.", Chart: chartHeap}},
	{"/memory/classes/total:bytes", Figure{Key: "/memory/mapped:bytes",
		Help: "Memory mapped by the Go runtime, including released memory.", Chart: chartMapped}},
	{"/memory/classes/heap/released:bytes",
		Figure{Key: "/memory/released:bytes", Help: "Mapped memory released to the system.", Chart: chartMapped}},
	{"/memory/classes/heap/stacks:bytes",
		Figure{Key: "/memory/stacks:bytes", Help: "Goroutine stacks.", Chart: chartMapped}},
	{"/gc/gomemlimit:bytes", Figure{Key: "/memory/limit:bytes",
		Help: "The runtime's memory limit; no value if there is none.", Chart: chartMapped}},
	{"/cpu/classes/gc/mark/assist:cpu-seconds", Figure{Key: "/gc/cpu/assist:cpu-seconds",
		Help: "Mark assist: allocating goroutines that must help mark.", Counter: true, Chart: chartGCCPU}},
	{"/cpu/classes/gc/mark/dedicated:cpu-seconds", Figure{Key: "/gc/cpu/dedicated:cpu-seconds",
		Help: "Mark workers with a CPU, or part of one, to themselves.", Counter: true, Chart: chartGCCPU}},
	{"/cpu/classes/gc/mark/idle:cpu-seconds", Figure{Key: "/gc/cpu/idle:cpu-seconds",
		Help: "Mark workers on otherwise idle CPUs.", Counter: true, Chart: chartGCCPU}},
	{"/cpu/classes/gc/pause:cpu-seconds",
		Figure{Key: "/gc/cpu/pause:cpu-seconds", Help: "Pauses, counted on every CPU.", Counter: true, Chart: chartGCCPU}},
	{"/cpu/classes/scavenge/total:cpu-seconds", Figure{Key: "/gc/cpu/scavenge:cpu-seconds",
		Help: "Returning memory to the system.", Counter: true, Chart: chartGCCPU}},
	{"/gc/heap/allocs:bytes",
		Figure{Key: "/alloc/size:bytes", Help: "Bytes allocated.", Counter: true, Chart: chartBytes}},
	{"/gc/cycles/total:gc-cycles",
		Figure{Key: "/gc/cycles:gc-cycles", Help: "Collections.", Counter: true, Chart: chartCycles}},
	{"/gc/cycles/forced:gc-cycles", Figure{Key: "/gc/cycles-forced:gc-cycles",
		Help: "Collections requested by the program.", Counter: true, Chart: chartCycles}},
	{"/sched/goroutines:goroutines",
		Figure{Key: "/sched/goroutines:goroutines", Help: "Existing goroutines.", Chart: chartRoutine}},
}

// sizes are the upper bounds of the object size classes, with their names and words; the last class has none.
var sizes = []struct {
	upTo     float64
	name, of string
}{
	{32, "to-32", "of up to 32 bytes"},
	{128, "to-128", "of 33 to 128 bytes"},
	{512, "to-512", "of 129 to 512 bytes"},
	{2048, "to-2048", "of 513 bytes to 2 KiB"},
	{32768, "to-32768", "of 2 to 32 KiB"},
	{math.Inf(1), "larger", "above 32 KiB"},
}

// times are histograms. A sample has quantiles of what each gained since the
// previous sample.
var times = []struct {
	metric   string
	p50      bool
	name, of string
	chart    string
}{
	{"/sched/pauses/total/gc:seconds", false, "/gc/pause", "Pauses of the world for collections", chartPauses},
	{"/sched/latencies:seconds", true, "/sched/latency", "Time that ready goroutines waited for a CPU", chartSched},
}

const (
	bySize = "/gc/heap/allocs-by-size:bytes"
	noMore = math.MaxInt64 // the runtime's value for no limit
)

// newRuntime returns the source of the runtime's figures and what reads them.
func newRuntime() (Source, *runtimeReader) {
	r := new(runtimeReader)
	var figures []Figure
	for _, m := range readings {
		figures = append(figures, m.Figure)
		r.samples = append(r.samples, metrics.Sample{Name: m.metric})
	}
	r.sizes = len(r.samples)
	r.samples = append(r.samples, metrics.Sample{Name: bySize})
	for _, s := range sizes {
		figures = append(figures, Figure{Key: "/alloc/" + s.name + ":objects", Help: "Objects " + s.of + " allocated.",
			Counter: true, Chart: chartSizes})
	}
	for _, t := range times {
		r.samples = append(r.samples, metrics.Sample{Name: t.metric})
		r.times = append(r.times, delta{median: t.p50})
		if t.p50 {
			figures = append(figures,
				Figure{Key: t.name + "/p50:seconds", Help: t.of + " since the previous sample: median.", Chart: t.chart})
		}
		figures = append(figures,
			Figure{Key: t.name + "/p99:seconds", Help: t.of + " since the previous sample: 99th percentile.", Chart: t.chart},
			Figure{Key: t.name + "/max:seconds", Help: t.of + " since the previous sample: longest.", Chart: t.chart})
	}
	figures = append(figures,
		Figure{Key: "/memory/resident:bytes", Help: "Resident memory of the process.", Chart: chartMapped})
	metrics.Read(r.samples)
	r.read(make([]float64, len(figures))) // the quantiles count from here
	return Source{Figures: figures, Read: r.read}, r
}

// runtimeReader reads the runtime's figures. The sampling goroutine owns it.
type runtimeReader struct {
	samples []metrics.Sample // of readings, bySize, times
	sizes   int              // index of bySize
	times   []delta
	statm   *os.File // until Monitor.Close; nil where there is none, and the figure is NaN
	line    [128]byte
}

func (r *runtimeReader) read(values []float64) {
	metrics.Read(r.samples)
	n := 0
	put := func(v float64) {
		values[n] = v
		n++
	}
	for i := range readings {
		switch v := r.samples[i].Value; v.Kind() {
		case metrics.KindUint64:
			if v.Uint64() == noMore {
				put(math.NaN())
			} else {
				put(float64(v.Uint64()))
			}
		case metrics.KindFloat64:
			put(v.Float64())
		default: // not in this version of Go
			put(math.NaN())
		}
	}
	countSizes(values[n:n+len(sizes)], r.samples[r.sizes].Value)
	n += len(sizes)
	for i := range r.times {
		d := &r.times[i]
		d.advance(r.samples[r.sizes+1+i].Value)
		if d.median {
			put(d.quantile(0.5))
		}
		put(d.quantile(0.99))
		put(d.quantile(1))
	}
	put(r.resident())
}

// countSizes counts the objects of each class.
func countSizes(values []float64, v metrics.Value) {
	clear(values)
	if v.Kind() != metrics.KindFloat64Histogram {
		for i := range values {
			values[i] = math.NaN()
		}
		return
	}
	h, class := v.Float64Histogram(), 0
	for i, count := range h.Counts {
		for h.Buckets[i+1] > sizes[class].upTo+1 { // a bucket ends where the next size starts
			class++
		}
		values[class] += float64(count)
	}
}

// resident returns the resident memory in bytes.
func (r *runtimeReader) resident() float64 {
	if r.statm == nil {
		return math.NaN()
	}
	n, _ := r.statm.ReadAt(r.line[:], 0)
	field, pages := 0, 0.0
	for _, c := range r.line[:n] {
		switch {
		case c == ' ':
			field++
		case field == 1 && '0' <= c && c <= '9':
			pages = 10*pages + float64(c-'0')
		}
	}
	return pages * pageSize
}

var pageSize = float64(os.Getpagesize())

// A delta is what a histogram gained between two looks.
type delta struct {
	median bool
	counts []uint64 // at the last look
	gained []uint64 // between the last look and the one before
	bounds []float64
	total  uint64
}

func (d *delta) advance(v metrics.Value) {
	d.total = 0
	if v.Kind() != metrics.KindFloat64Histogram {
		return
	}
	h := v.Float64Histogram()
	if len(d.counts) != len(h.Counts) {
		d.counts, d.gained = make([]uint64, len(h.Counts)), make([]uint64, len(h.Counts))
	}
	d.bounds = h.Buckets
	for i, c := range h.Counts {
		d.gained[i] = c - d.counts[i]
		d.total += d.gained[i]
		d.counts[i] = c
	}
}

// quantile returns the upper bound of the bucket that holds the quantile, or
// NaN if the histogram gained nothing.
func (d *delta) quantile(q float64) float64 {
	if d.total == 0 {
		return math.NaN()
	}
	rank, sum := uint64(math.Ceil(q*float64(d.total))), uint64(0)
	for i, n := range d.gained {
		if sum += n; sum >= max(rank, 1) {
			if upper := d.bounds[i+1]; !math.IsInf(upper, 1) {
				return upper
			}
			return d.bounds[i]
		}
	}
	return math.NaN()
}
