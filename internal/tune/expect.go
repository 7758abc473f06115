package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// sources are the pilots that have a trajectory, one process at least.
func (m *Model) sources() []*Pilot {
	var out []*Pilot
	for i := range m.pilots {
		if m.pilots[i].Cycles > 0 {
			out = append(out, &m.pilots[i])
		}
	}
	return out
}

// replayed is how many pilots are replayed at most: more show little beside
// those that collected most.
const replayed = 3

// replays are the sources to replay: those of most cycles, and none of few cycles
// beside one of more, which saw what was live more often.
func (m *Model) replays() []*Pilot {
	all := m.sources()
	slices.SortStableFunc(all, func(a, b *Pilot) int { return cmp.Compare(b.Cycles, a.Cycles) })
	for i, p := range all {
		if i == replayed || i > 0 && p.Cycles < fewCycles {
			return all[:i]
		}
	}
	return all
}

// expect averages the replays of the pilots.
func (m *Model) expect(gc cell.GC) replay {
	var sum replay
	var seconds, cycles, peaks, strain moments
	other, deviation := m.beyondOf(gc)
	sum.more = other - m.usuallyBeyond()
	for _, p := range m.replays() {
		r := p.replayAll(gc, other)
		tight, ample := p.replayAll(gc, other+deviation), p.replayAll(gc, other-deviation)
		strain.weigh(p.weight(), math.Log(float64(tight.cycles+1)/float64(ample.cycles+1))/2)
		seconds.weigh(p.weight(), r.seconds)
		cycles.weigh(p.weight(), float64(r.cycles))
		sum.starving = sum.starving || r.starving
		peaks.weigh(p.weight(), r.peak)
	}
	sum.seconds, sum.cycles = seconds.mean(), int(math.Round(cycles.mean()))
	sum.peak = peaks.mean()
	sum.strain = max(strain.mean(), 0)
	return sum
}

// needs is what the heap and what else counts to a GOMEMLIMIT take under a setting, in
// bytes, where collections keep up. How fast they are does not matter, so that it is the
// same on a busy machine, where heaps outgrow their goals.
func (m *Model) needs(gc cell.GC) float64 {
	var peaks moments
	other, _ := m.beyondOf(gc)
	for _, p := range m.replays() {
		top := 0.0
		for _, s := range p.streams {
			s.floating *= 1 - p.Waiting
			top = max(top, s.run(gc, other).peak)
		}
		peaks.weigh(p.weight(), top)
	}
	return peaks.mean() + other
}
