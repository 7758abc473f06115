package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// sources returns the pilots with a trajectory of at least one process.
func (m *Model) sources() []*Pilot {
	var out []*Pilot
	for i := range m.pilots {
		if m.pilots[i].Cycles > 0 {
			out = append(out, &m.pilots[i])
		}
	}
	return out
}

// replayed is how many pilots are replayed at most; more than those with the most
// collections add little.
const replayed = 3

// replays returns the pilots to replay: those with the most cycles. It leaves out pilots with few
// cycles beside the first: they sampled live data less often.
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

// expect averages the replays of the pilots under gc.
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

// needs returns the bytes that count to a GOMEMLIMIT under a setting, if collections keep up. It
// ignores their speed, so it is the same on a busy machine, where heaps outgrow their goals.
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
