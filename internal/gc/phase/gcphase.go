// Package phase determines from an execution trace what the collector did, when, and during
// which operations.
//
// [Read] turns a trace of package runtime/trace, whole or from the flight
// recorder, into a [Timeline]: the most severe [Phase] of the program at every
// moment. [Timeline.Attribute] counts how many operations, each an interval, overlapped
// each phase, and how many would by chance.
//
// An overlap does not prove a cause. If far more operations overlap a phase
// than chance predicts, the two are related.
//
// Nothing here is safe for concurrent use.
package phase

import (
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// A Phase is what the collector does, as far as it affects the program. Higher phases are more severe.
type Phase int

const (
	None      Phase = iota // nothing
	Sweep                  // a goroutine sweeps before it allocates, or in the background
	Mark                   // marking is on, no worker runs: write barriers only
	Idle                   // marking by workers on otherwise idle CPUs
	Dedicated              // marking by workers with a CPU, or part of one, to themselves
	Assist                 // an allocating goroutine must mark first
	OtherStop              // the world is stopped, but not for a collection
	Stop                   // the world is stopped for a collection
	phases
)

var names = [phases]string{"none", "sweep", "mark", "mark, idle workers", "mark, dedicated workers", "mark assist",
	"other stop of the world", "stop of the world"}

func (p Phase) String() string { return names[p] }

// A Timeline is what the collector did during a trace.
type Timeline struct {
	// Start and End are the bounds, in nanoseconds of the trace's own clock.
	Start, End int64
	// Anchor is the time of the event that [Anchor] logged; 0 without one.
	Anchor int64
	// Ops are the operations found in the trace itself, by kind: the program's
	// regions and tasks, and the waits of ready goroutines for a CPU.
	Ops map[string][]Op
	// Cut is the error that ended reading before the end of the trace; nil if there was none.
	Cut error

	at    []int64 // when each phase began; ascending
	phase []Phase // the phase
}

// An Op is an operation, on the clock of the trace.
type Op struct{ Start, End int64 }

// begin records the beginning of a phase.
func (t *Timeline) begin(at int64, p Phase) {
	n := len(t.at)
	switch {
	case n > 0 && t.phase[n-1] == p:
		return
	case n > 0 && t.at[n-1] == at: // the previous phase took no time
		t.phase[n-1] = p
		return
	}
	t.at, t.phase = append(t.at, at), append(t.phase, p)
}

// During returns the most severe phase between start and end.
func (t *Timeline) During(start, end int64) Phase {
	i := sort.Search(len(t.at), func(i int) bool { return t.at[i] > start })
	worst := None
	if i > 0 {
		worst = t.phase[i-1]
	}
	for ; i < len(t.at) && t.at[i] < end; i++ {
		worst = max(worst, t.phase[i])
	}
	return worst
}

// Stopped returns how many nanoseconds of op the world was stopped for a
// collection.
func (t *Timeline) Stopped(op Op) (ns int64) { return t.within(op)[Stop] }

// within returns how many nanoseconds of op each phase took.
func (t *Timeline) within(op Op) (ns [phases]int64) {
	for i, at := range t.at {
		end := t.End
		if i+1 < len(t.at) {
			end = t.at[i+1]
		}
		ns[t.phase[i]] += max(min(end, op.End)-max(at, op.Start), 0)
	}
	return ns
}

// shifts is the number of times that all operations are shifted to estimate chance.
const shifts = 100

// An Attribution says what the collector did during the slowest operations.
type Attribution struct {
	// Latency names the histogram that has these operations: cell.HistResponse or cell.HistService.
	// It is empty if the workload times something else, such as submissions to a loop.
	Latency string `json:"latency,omitempty"`
	// Above is the quantile that the slow operations exceed, such as 0.999;
	// ThresholdNs is its value. Ops of Total operations exceed it.
	Above       float64 `json:"above"`
	ThresholdNs int64   `json:"threshold_ns"`
	Ops         int64   `json:"ops"` // within the timeline
	Total       int64   `json:"total"`
	WindowNs    int64   `json:"window_ns"` // length of the timeline
	// SlowestNs is the slowest operation; for SlowestStoppedNs of it the world was
	// stopped for a collection.
	SlowestNs        int64 `json:"slowest_ns"`
	SlowestStoppedNs int64 `json:"slowest_stopped_ns"`
	Rows             []Row `json:"rows"` // the phases, most severe first
}

// A Row is a phase. Each operation and each moment counts once, for the most
// severe phase that it overlaps.
type Row struct {
	Phase string `json:"phase"`
	Ops   int64  `json:"ops"`
	// Chance is the number of operations that would overlap the phase by chance: the mean
	// over random shifts of all operations in time.
	Chance float64 `json:"chance"`
	TimeNs int64   `json:"time_ns"`
}

// Attribute counts which phases the operations overlapped. It skips operations that are not
// within the timeline. seed is for the random shifts. The caller knows Latency, Above, ThresholdNs and Total.
func (t *Timeline) Attribute(ops []Op, seed uint64) Attribution {
	var in []Op
	var slowest Op
	for _, op := range ops {
		if op.Start >= t.Start && op.End <= t.End && op.End >= op.Start {
			in = append(in, op)
			if op.End-op.Start > slowest.End-slowest.Start {
				slowest = op
			}
		}
	}
	window := t.End - t.Start
	result := Attribution{Ops: int64(len(in)), WindowNs: window, SlowestNs: slowest.End - slowest.Start,
		SlowestStoppedNs: t.Stopped(slowest)}
	time := t.within(Op{t.Start, t.End})
	var count, chance [phases]int64
	for _, op := range in {
		count[t.During(op.Start, op.End)]++
	}
	random := rand.New(rand.NewPCG(seed, 0x7068617365))
	for range shifts {
		if window <= 0 {
			break
		}
		by := random.Int64N(window)
		for _, op := range in {
			chance[t.shifted(op, by)]++
		}
	}
	for p := phases - 1; p >= None; p-- {
		result.Rows = append(result.Rows, Row{
			Phase: p.String(), Ops: count[p], Chance: float64(chance[p]) / shifts, TimeNs: time[p],
		})
	}
	return result
}

// Add adds the operations of another repetition.
func (a *Attribution) Add(b *Attribution) {
	if a.Rows == nil {
		*a = *b
		a.Rows = slices.Clone(b.Rows)
		return
	}
	if b.SlowestNs > a.SlowestNs {
		a.SlowestNs, a.SlowestStoppedNs = b.SlowestNs, b.SlowestStoppedNs
	}
	a.ThresholdNs = max(a.ThresholdNs, b.ThresholdNs)
	a.Ops, a.Total, a.WindowNs = a.Ops+b.Ops, a.Total+b.Total, a.WindowNs+b.WindowNs
	for i := range min(len(a.Rows), len(b.Rows)) {
		a.Rows[i].Ops += b.Rows[i].Ops
		a.Rows[i].Chance += b.Rows[i].Chance
		a.Rows[i].TimeNs += b.Rows[i].TimeNs
	}
}

// shifted is During for an operation shifted by the given time; it wraps around at the end.
func (t *Timeline) shifted(op Op, by int64) Phase {
	start, end := op.Start+by, op.End+by
	switch window := t.End - t.Start; {
	case start >= t.End:
		return t.During(start-window, end-window)
	case end > t.End:
		return max(t.During(start, t.End), t.During(t.Start, end-window))
	}
	return t.During(start, end)
}

// At returns the time on the trace's clock that is d after the anchor.
func (t *Timeline) At(d time.Duration) int64 { return t.Anchor + int64(d) }
