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

// expect averages the replays of the pilots. What these differ by, which is
// what differs from run to run of what is live, adds to the spread.
func (m *Model) expect(gc cell.GC) replay {
	var sum replay
	var seconds, cycles, peaks, goals, strain weighted
	other, deviation := m.beyondOf(gc)
	sum.more = other - m.usuallyBeyond()
	for _, p := range m.replays() {
		r := p.chances(gc, other)
		tight, ample := p.replayAll(gc, other+deviation, nil), p.replayAll(gc, other-deviation, nil)
		strain.add(p.weight(), math.Log(float64(tight.cycles+1)/float64(ample.cycles+1))/2, 0)
		seconds.add(p.weight(), r.seconds, 0)
		cycles.add(p.weight(), float64(r.cycles), 0)
		sum.starving = sum.starving || r.starving
		peaks.add(p.weight(), r.peak, r.peakSpread)
		if r.weight > 0 {
			goals.add(p.weight(), r.goal/r.weight, r.goalSpread)
		}
	}
	sum.seconds, sum.cycles = seconds.mean(), int(math.Round(cycles.mean()))
	sum.peak, sum.peakSpread = peaks.mean(), peaks.spread()
	sum.strain = max(strain.mean(), 0)
	if goals.n > 0 {
		sum.goal, sum.goalSpread, sum.weight = goals.mean(), goals.spread(), 1
	}
	return sum
}

// needs is what the heap and what else counts to a GOMEMLIMIT take under a setting, in
// bytes, where collections keep up. How fast they are does not matter, so that it is the
// same on a busy machine, where heaps outgrow their goals.
func (m *Model) needs(gc cell.GC) float64 {
	var peaks weighted
	other, _ := m.beyondOf(gc)
	for _, p := range m.replays() {
		top := 0.0
		for _, s := range p.streams {
			s.floating *= 1 - p.Waiting
			top = max(top, s.run(gc, other, nil).peak)
		}
		peaks.add(p.weight(), top, 0)
	}
	return peaks.mean() + other
}

// weighted are the sums that a weighted mean comes from, of values that each
// have a spread of their own.
type weighted struct{ n, weights, sum, square, own float64 }

func (s *weighted) add(weight, v, own float64) {
	s.n, s.weights = s.n+1, s.weights+weight
	s.sum, s.square, s.own = s.sum+weight*v, s.square+weight*v*v, s.own+weight*own
}

func (s *weighted) mean() float64 { return s.sum / s.weights }

// spread is by how much one more value may be off the mean: its own spread, and
// what n values say of how much they differ, whose variance is (n+1)/(n-1) of
// theirs about their mean.
func (s *weighted) spread() float64 {
	if s.n < 2 {
		return s.own / s.weights
	}
	variance := max(s.square/s.weights-s.mean()*s.mean(), 0) * (s.n + 1) / (s.n - 1)
	return math.Hypot(s.own/s.weights, math.Sqrt(variance))
}

// parallel is how many CPUs the work keeps busy beside collection, on average,
// and how many of the runs saw what is live often enough.
func (m *Model) parallel() (cpus float64, runs int) {
	sources := m.sources()
	for _, p := range sources {
		cpus += (p.CPU - p.GCSeconds) / p.Wall / float64(len(sources))
		if p.Cycles >= fewCycles {
			runs++
		}
	}
	return cpus, runs
}
