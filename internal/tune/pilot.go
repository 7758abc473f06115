package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const mib = 1 << 20

// A Pilot holds the figures of one run that a model is fitted to. Copies share the
// trajectories, which never change.
type Pilot struct {
	GC    cell.GC
	Procs int // GOMAXPROCS, as the program's own lines say
	// Wall and CPU are seconds, CPU that of all threads.
	Wall, CPU float64
	// Waiting is the share of the time in which its threads were runnable but had no CPU.
	Waiting float64
	// GCSeconds is the CPU time of all collections, marking on idle CPUs included: that is CPU
	// time too, and most of it if one thread does the work.
	GCSeconds     float64
	PeakBytes     float64 // resident
	Largest       float64 // resident bytes of the largest process; 0 where one was all that ran
	Cycles        int     // not forced
	PeakHeapBytes float64
	// mostHeap is the most that the heap can have had: what was seen, or the goal of the cycle that did not begin.
	mostHeap float64
	// Beyond is how many bytes count to GOMEMLIMIT beside the heap's objects: the mean over the
	// goals that the limit set; 0 if it set none.
	Beyond  float64
	streams []trajectory
	// allocated estimates the bytes that the program allocates. least were allocated when the
	// last cycle ended, most would be when the next one ends. steadily is least, and what
	// the mean rate adds until the program ends.
	allocated, least, most, steadily float64
	grown                            float64 // see growth
}

// weight is how much the pilot counts in means.
func (p *Pilot) weight() float64 { return min(float64(p.Cycles), 20) }

// forced returns how many collections the program requested.
func (p *Pilot) forced() (n int) {
	for _, t := range p.streams {
		n += len(t.forced)
	}
	return n
}

// mostLive returns the most bytes that were reachable.
func (p *Pilot) mostLive() (most float64) {
	for _, t := range p.streams {
		for _, at := range t.points {
			most = max(most, at.live)
		}
	}
	return most
}

// A trajectory is the life of one process, measured in bytes allocated instead of
// time: the live bytes at each point. It does not depend on the collector's settings,
// so a run under any setting gives it.
type trajectory struct {
	points []point // by allocated, ascending
	total  float64 // bytes allocated from start to end, between least and most
	// As of a Pilot.
	least, most, steadily float64
	// costFixed and costPerByte are the CPU seconds of a cycle and of each byte that it scans.
	costFixed, costPerByte float64
	// spread is the relative standard deviation of the cost of a cycle from its fit.
	spread float64
	// floating is how many bytes are allocated while marking per second of the collector's CPU
	// time, if the runway does not bound them.
	floating float64
	procs    int
	// forced are the collections that the program requests. Under each setting they come at the
	// same number of bytes allocated.
	forced []forcedCycle
}

type forcedCycle struct {
	allocated, black float64 // bytes: before it, and while it was marking
	seconds          float64 // CPU
}

type point struct {
	allocated float64
	live      float64 // reachable, without bytes allocated while marking
	roots     float64 // stacks and globals
}

// errNoCycles says that a program printed no gctrace line.
var errNoCycles = errors.New("tune: no gctrace line was printed: the program is not Go, or never collected, or what " +
	"starts it keeps its standard error, or sets GODEBUG: give the command of the program itself")

// NewPilot reads the record of an exec cell.
func NewPilot(rec *cell.Record) (Pilot, error) {
	if rec.Err != nil {
		return Pilot{}, fmt.Errorf("tune: pilot: %w", rec.Err)
	}
	p := Pilot{
		GC: rec.Cell.GC, Wall: rec.Metrics[cell.WallTime], CPU: rec.Metrics[cell.TotalCPU],
		PeakBytes: rec.Metrics[cell.RSSPeak], Largest: rec.Metrics[cell.RSSLargest],
	}
	if wait := rec.Metrics[cell.CPUWait]; wait > 0 {
		p.Waiting = wait / (p.CPU + wait)
	}
	if len(rec.Cycles) == 0 {
		return p, errNoCycles
	}
	costs := cycleCosts(rec)
	byStream := map[int][]cell.Cycle{}
	streams := 0
	for i, c := range rec.Cycles {
		c.CPUNs = int64(costs[i])
		byStream[c.Stream] = append(byStream[c.Stream], c)
		streams = max(streams, c.Stream+1)
		p.GCSeconds += float64(c.CPUNs) / 1e9
		p.PeakHeapBytes = max(p.PeakHeapBytes, float64(max(c.StartBytes, c.EndBytes)))
		if !c.Forced {
			p.Cycles++
		}
	}
	p.Procs = rec.Cycles[0].Procs
	var beyond moments
	for s := range streams {
		cycles := byStream[s]
		p.limited(cycles, &beyond)
		last := cycles[len(cycles)-1]
		goal := percentGoal(p.GC.Percent, float64(last.LiveBytes), float64(last.StackBytes+last.GlobalBytes))
		if limit := float64(p.GC.LimitBytes); limit > 0 {
			goal = min(goal, limit)
		}
		p.mostHeap = max(p.mostHeap, p.PeakHeapBytes, goal)
		life := newTrajectory(cycles, &p)
		p.streams = append(p.streams, life)
		p.grown = max(p.grown, growth(cycles, life.points, rec))
		p.allocated += life.total
		p.least += life.least
		p.most += life.most
		p.steadily += life.steadily
	}
	p.Beyond = beyond.mean()
	return p, nil
}

// limited adds the bytes beside the heap that goals imply, if GOMEMLIMIT set them and not GOGC.
func (p *Pilot) limited(cycles []cell.Cycle, beyond *moments) {
	marked, roots := 0.0, 0.0
	for _, c := range cycles {
		goal := float64(c.GoalBytes)
		own := percentGoal(p.GC.Percent, marked, roots)
		if p.GC.LimitBytes > 0 && goal > 0 && goal < own-2*mib && !c.Forced {
			beyond.add(beyondHeap(float64(p.GC.LimitBytes), goal))
		}
		marked, roots = float64(c.LiveBytes), float64(c.StackBytes+c.GlobalBytes)
	}
}

// cycleCosts returns the CPU times of the cycles in nanoseconds. gctrace counts threads that wait
// for a CPU as collecting, so costs are scaled by the share of time in which threads had one. A
// quota's stops are few and long. If fewer than half of the cycles can contain one, there are two
// estimates: cut each cost to what a cycle without a stop takes at most, which still counts
// waiting for other processes; or scale by the waiting without the stops of GOMAXPROCS threads, as
// no more run Go code, which still counts stops within cycles. The lesser is closer.
func cycleCosts(rec *cell.Record) []float64 {
	var costs, units []float64
	traced := 0.0
	scanned := func(c cell.Cycle) float64 { return float64(c.LiveBytes + c.StackBytes + c.GlobalBytes + mib) }
	for _, c := range rec.Cycles {
		costs = append(costs, float64(c.CPUNs+c.IdleNs))
		units = append(units, float64(c.CPUNs+c.IdleNs)/scanned(c))
	}
	cpu, scale := rec.Metrics[cell.TotalCPU], rec.Metrics[cell.GCCPUScale]
	if stops := stopsOf(rec); stops > 0 && 2*stops < float64(len(costs)) {
		threads := float64(rec.Cycles[0].Procs)
		scale = cpu / max(cpu/scale-threads*rec.Metrics[cell.PodThrottled], cpu)
		slices.Sort(units)
		usual := units[len(units)/4]
		var all, least float64
		cut := slices.Clone(costs)
		for i, c := range rec.Cycles {
			cut[i] = min(costs[i], stretched*usual*scanned(c))
			all, least = all+costs[i], least+cut[i]
		}
		if least < scale*all {
			costs, scale = cut, 1
		}
	}
	for _, cost := range costs {
		traced += cost / 1e9
	}
	if most := cpu / max(traced, 1e-9); scale <= 0 || scale > most {
		scale = min(most, 1)
	}
	for i := range costs {
		costs[i] *= scale
	}
	return costs
}

// stretched bounds a cycle that no quota stopped: its cost per byte is at most this many times
// that of the lower quartile.
const stretched = 1.5

// stopsOf returns an upper bound of how often a quota stopped the program: once per period of 100 ms.
func stopsOf(rec *cell.Record) float64 {
	return rec.Metrics[cell.PodThrottledShare] * (rec.Metrics[cell.WallTime]/0.1 + 1)
}

// newTrajectory derives a trajectory from the cycles of one process.
func newTrajectory(cycles []cell.Cycle, p *Pilot) (t trajectory) {
	var allocated, between, pausing, marking, cost, room, duration float64
	var marked, roots, ended float64 // of the previous cycle
	for i, c := range cycles {
		start, end := float64(c.StartBytes), float64(c.EndBytes)
		at := float64(c.AtNs) / 1e9
		fresh := max(start-marked, 0)
		allocated += fresh
		between += fresh
		pausing += max(at-ended, 0)
		black := max(end-start, 0)
		// The runtime rounds each size down: half a MiB is missing on average.
		live := max(float64(c.LiveBytes)+mib/2-black, mib/4)
		t.points = append(t.points, point{allocated, live, float64(c.StackBytes + c.GlobalBytes)})
		if c.Forced {
			t.forced = append(t.forced, forcedCycle{allocated, black, float64(c.CPUNs) / 1e9})
		}
		if goal := float64(c.GoalBytes); goal > 0 && !c.Forced && i > 0 {
			room += max(goal-marked, 0)
			marking += black
			cost += float64(c.CPUNs) / 1e9
			duration += float64(c.MarkNs) / 1e9
		}
		allocated += black
		marked, roots = float64(c.LiveBytes), float64(c.StackBytes+c.GlobalBytes)
		ended = at + float64(c.MarkNs)/1e9
		t.procs = max(c.Procs, 1)
	}
	rate := between / max(pausing, 1e-6) // bytes per second while no cycle runs
	rest := rate * max(p.Wall-ended, 0)
	if goal := float64(cycles[len(cycles)-1].GoalBytes); goal > 0 {
		// The next cycle did not begin; its goal is about the last one's.
		rest = min(rest, max(goal-marked, 0))
	}
	// It must also fit into the resident memory at the peak.
	peak := max(p.PeakHeapBytes, (p.PeakBytes-usualOther)/heapOverhead)
	rest = min(rest, peak-marked)
	t.total, t.least, t.steadily = allocated+rest, allocated, allocated+rate*max(p.Wall-ended, 0)
	t.most = allocated + max(min(percentGoal(p.GC.Percent, marked, roots), peak)-marked, rest)
	t.fitCost(cycles)
	// While marking, the program runs at about half speed, for as long as the cycles took, or as
	// long as dedicated workers alone would need: they get a quarter of the CPUs and some
	// assists. If the runway did not bound the bytes allocated meanwhile, use the measured rate.
	long := 1 / (0.28 * float64(t.procs))
	if cost > 0 {
		long = max(long, duration/cost)
	}
	t.floating = 0.48 * rate * long
	if seen := marking / max(cost, 1e-9); marking > 4*mib && (marking < 0.25*room || seen > t.floating) {
		t.floating = seen
	}
	return t
}

// fitCost splits the cost of a cycle into a fixed part and a part per byte scanned, by least
// squares; neither is negative. If the live heap hardly varies, the two cannot be told apart and
// need not be: the whole cost counts as proportional.
func (t *trajectory) fitCost(cycles []cell.Cycle) {
	var n, sx, sy, sxx, sxy float64
	var xs, ys []float64
	for i, c := range cycles {
		if c.Forced || i == 0 && len(cycles) > 5 {
			continue
		}
		x := max(float64(c.LiveBytes)+mib/2-max(float64(c.EndBytes-c.StartBytes), 0), mib/4) +
			float64(c.StackBytes+c.GlobalBytes)
		y := float64(c.CPUNs) / 1e9
		xs, ys = append(xs, x), append(ys, y)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n == 0 {
		for _, c := range cycles { // all forced: at least their cost is known
			sx += float64(c.LiveBytes) + mib/2
			sy += float64(c.CPUNs) / 1e9
		}
		t.costPerByte, t.spread = sy/sx, 1
		return
	}
	t.costPerByte = sy / sx
	variance := sxx/n - sx*sx/n/n
	if mean := sx / n; n >= 5 && variance > 0.04*mean*mean {
		slope := (sxy/n - sx*sy/n/n) / variance
		if fixed := sy/n - slope*sx/n; slope > 0 && fixed > 0 {
			t.costFixed, t.costPerByte = fixed, slope
		} else if slope <= 0 {
			t.costFixed, t.costPerByte = sy/n, 0
		}
	}
	var square float64
	for i := range xs {
		d := ys[i] - t.cost(xs[i])
		square += d * d
	}
	t.spread = math.Sqrt(square/max(n-1, 1)) / (sy / n)
}

// cost is the CPU time, in seconds, of a cycle that scans the given bytes.
func (t *trajectory) cost(scanned float64) float64 { return t.costFixed + t.costPerByte*scanned }

// at returns the live bytes and the roots after the given bytes were allocated.
func (t *trajectory) at(allocated float64) (live, roots float64) {
	n := len(t.points)
	if n == 0 {
		return mib / 4, 0
	}
	i := sort.Search(n, func(i int) bool { return t.points[i].allocated > allocated })
	if i == n { // let live data grow on at its average rate
		last := t.points[n-1]
		return last.live * (1 + (allocated-last.allocated)/max(last.allocated, 1)), last.roots
	}
	before, next := point{}, t.points[i]
	if i > 0 {
		before = t.points[i-1]
	}
	share := (allocated - before.allocated) / max(next.allocated-before.allocated, 1)
	return before.live + share*(next.live-before.live), max(before.roots, next.roots)
}
