package workload

import (
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/gc/trace"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// maxTimeline bounds the rows of a timeline and the number of listed pauses.
const maxTimeline = 1 << 14

// setTrace records the figures of the gctrace lines. TotalCPU must be set.
func setTrace(rec *cell.Record, t trace.Trace, seen watched) {
	rec.Set(cell.GCRelayed, float64(t.Relayed))
	if t.Relayed > 0 {
		rec.Warn("gctrace-relayed", "%d gctrace lines arrived in one piece: a subprocess printed them through its parent, "+
			"or the program made them up; they are not counted", t.Relayed)
	}
	if t.Gaps > 0 {
		rec.Warn("gctrace-gaps", "%d gctrace lines do not follow in number: some are missing, so cycle count and GC "+
			"figures are too low", t.Gaps)
	}
	if t.Streams > 1 {
		rec.Warn("gctrace-streams", "the lines of %d processes are added up; heap figures are the largest one's", t.Streams)
	}
	var forced, heap, goal, live int64
	var pause, longest, assist, dedicated, idle, pauseCPU int64 // ns
	for _, c := range t.Cycles {
		if c.Forced {
			forced++
		}
		heap = max(heap, c.StartBytes, c.EndBytes)
		if c.GoalBytes < cell.NoGoal {
			goal = max(goal, c.GoalBytes)
		}
		pause += c.PauseNs()
		longest = max(longest, c.SweepNs, c.TerminationNs)
		assist += c.AssistNs
		dedicated += c.DedicatedNs
		idle += c.IdleNs
		pauseCPU += c.PauseCPUNs()
	}
	if began, asked := heldOff(rec.Cell.GC, t.Cycles); began > 0 {
		rec.Warn("held-off", "the first collection began when the heap had %s, where GOGC=%s asks for %s: a script "+
			"or the program (debug.SetGCPercent) sets GOGC, or it allocates as much at once; until then GOGC has no effect",
			cell.FormatBytes(began), rec.Cell.GC.GOGC(), cell.FormatBytes(asked))
	}
	scale := cpuScale(rec, time.Duration(assist+dedicated+idle+pauseCPU), seen)
	rec.Set(cell.GCCycles, float64(len(t.Cycles)))
	rec.Set(cell.GCForced, float64(forced))
	rec.Set(cell.GCPauseTotal, time.Duration(pause).Seconds())
	total := 0.0
	for _, part := range []struct {
		metric string
		ns     int64
	}{{cell.GCCPUAssist, assist}, {cell.GCCPUDedicated, dedicated}, {cell.GCCPUIdle, idle}, {cell.GCCPUPause, pauseCPU}} {
		seconds := scale * time.Duration(part.ns).Seconds()
		rec.Set(part.metric, seconds)
		total += seconds
	}
	rec.Set(cell.GCCPUTotal, total)
	if cpu := rec.Metrics[cell.TotalCPU]; cpu > 0 {
		rec.Set(cell.GCCPUShare, min(total/cpu, 1))
	}
	if len(t.Cycles) == 0 {
		return
	}
	for _, c := range slices.Backward(t.Cycles) {
		if c.Stream == 0 { // the process that collected first, as for the timeline
			live = c.LiveBytes
			rec.Set(cell.GCPauseLast, time.Duration(c.PauseNs()).Seconds())
			break
		}
	}
	rec.Set(cell.HeapMax, float64(heap))
	rec.Set(cell.HeapLive, float64(live))
	rec.Set(cell.GCPauseMax, time.Duration(longest).Seconds())
	if goal > 0 {
		rec.Set(cell.GoalMax, float64(goal))
	}
	setTimeline(rec, t.Cycles)
	setCycles(rec, t.Cycles)
}

// leastHeap times GOGC/100 is the heap, in bytes, at which a program first collects. If it has
// more stacks and globals than leastHeap, these take its place.
const leastHeap = 4 << 20

// heldOff returns the heap at which a process first collected if the setting asks for less than
// half of that, and the heap that it asks for; 0 if none did.
func heldOff(gc cell.GC, cycles []trace.Cycle) (began, asked int64) {
	for _, c := range cycles {
		ask := max(leastHeap, c.StackBytes+c.GlobalBytes) * int64(gc.Percent) / 100
		if c.N == 1 && gc.Percent >= 0 && c.StartBytes > max(2*ask, ask+2*leastHeap, began) {
			began, asked = c.StartBytes, ask
		}
	}
	return began, asked
}

// waitsMuch is the share of runnable time spent waiting for a CPU above which a
// record carries a warning.
const waitsMuch = 0.10

// cpuScale returns the factor for gctrace's CPU times, and records it. The runtime counts the
// time of a collecting thread as CPU time even while the thread waits for a CPU. cpuScale assumes
// that threads wait as much while collecting as otherwise. Collections cannot take more CPU time
// than the whole program did.
func cpuScale(rec *cell.Record, traced time.Duration, seen watched) float64 {
	cpu := rec.Metrics[cell.TotalCPU]
	scale := seen.share()
	if len(seen.threads) > 0 {
		rec.Set(cell.CPUWait, cpu*(1/scale-1))
	}
	if most := cpu / max(traced.Seconds(), 1e-9); cpu > 0 {
		scale = min(scale, most)
	}
	rec.Set(cell.GCCPUScale, scale)
	if waits := 1 - seen.share(); waits > waitsMuch {
		rec.Warn("cpu-wait", "the program's threads waited for a CPU for %.0f %% of the time they were runnable: GC CPU "+
			"times are those of gctrace multiplied by %.2f", 100*waits, scale)
	}
	return scale
}

// maxCycles bounds the collections that a record lists individually.
const maxCycles = 1 << 14

func setCycles(rec *cell.Record, cycles []trace.Cycle) {
	if len(cycles) > maxCycles {
		rec.Warn("cycles-cut", "%d collections are too many to be listed: the record has the first %d", len(cycles),
			maxCycles)
		cycles = cycles[:maxCycles]
	}
	rec.Cycles = slices.Clone(cycles)
	for i := range rec.Cycles {
		if c := &rec.Cycles[i]; c.GoalBytes >= cell.NoGoal {
			c.GoalBytes = 0
		}
	}
}

// setTimeline draws the heap of the first process as a saw-tooth with three
// rows per cycle: at the start of the cycle, at the end of marking, and what
// was then live. If there are too many cycles it draws every k-th. Time is that
// of the process.
func setTimeline(rec *cell.Record, cycles []trace.Cycle) {
	stride := 3*len(cycles)/maxTimeline + 1
	line := &rec.Timeline
	row := func(at, heap, goal int64, finished uint64) {
		line.AtNs = append(line.AtNs, at)
		line.HeapBytes = append(line.HeapBytes, heap)
		line.GoalBytes = append(line.GoalBytes, goal)
		line.Cycles = append(line.Cycles, int64(finished))
	}
	hasGoal := true
	for i, c := range cycles {
		if c.Stream != 0 || i%stride != 0 {
			continue
		}
		hasGoal = hasGoal && c.GoalBytes < cell.NoGoal
		marked := c.AtNs + c.SweepNs + c.MarkNs
		ended := marked + c.TerminationNs
		row(c.AtNs, c.StartBytes, c.GoalBytes, c.N-1)
		row(marked, c.EndBytes, c.GoalBytes, c.N-1)
		row(ended, c.LiveBytes, c.GoalBytes, c.N)
		rec.Pauses = append(rec.Pauses, cell.Pause{AtNs: c.AtNs + c.SweepNs, Ns: c.SweepNs},
			cell.Pause{AtNs: ended, Ns: c.TerminationNs})
	}
	if !hasGoal {
		line.GoalBytes = nil
	}
}
