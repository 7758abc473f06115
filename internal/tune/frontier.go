package tune

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// curvePercents are the GOGC values of the curve. None of them is run for it:
// what is measured is for the search to say.
var curvePercents = []int{10, 15, 25, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, -1}

// limitSteps divide each doubling of GOMEMLIMIT from the cliff up.
var limitSteps = []float64{1.05, 1.25, 1.5, 1.75}

// curveSettings returns the settings of the curve: every GOGC, GOMEMLIMIT with GOGC off
// from a little above the cliff to the first that nothing reaches, and the
// candidates. By GOGC, off last, and then by limit.
func curveSettings(candidates []cell.GC, cliff, roof int64) []cell.GC {
	out := slices.Clone(candidates)
	for _, percent := range curvePercents {
		out = append(out, setting(percent, 0))
	}
	for scale, last := 1.0, int64(0); 0 < cliff && cliff < roof && last < roof && scale < 1<<20; scale *= 2 {
		for _, step := range limitSteps {
			if last < roof {
				last = roundUp(int64(step * scale * float64(cliff)))
				out = append(out, setting(-1, last))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b cell.GC) int {
		return cmp.Or(cmp.Compare(a.LimitBytes, b.LimitBytes), cmp.Compare(uint(a.Percent), uint(b.Percent)))
	})
	return slices.CompactFunc(out,
		func(a, b cell.GC) bool { return a.Percent == b.Percent && a.LimitBytes == b.LimitBytes })
}

// roundUp gives a size five significant bits at most, and whole MiB.
func roundUp(size int64) int64 {
	unit := max(int64(1)<<max(bits.Len64(uint64(size))-5, 0), mib)
	return (size + unit - 1) / unit * unit
}

// roof is the GOMEMLIMIT, in bytes, above which nothing is collected on its
// account.
func (m *Model) roof() int64 {
	used := m.expect(cell.DisabledGC).peak + m.other
	return int64(max(used/(1-limitReserve), used+mib))
}

// predictAll predicts settings that need not be candidates, and says of those
// that lie outside of what the pilots covered that they do.
func (m *Model) predictAll(settings []cell.GC) []Prediction {
	var out []Prediction
	for _, gc := range settings {
		p := m.Predict(gc)
		if why := m.outside(p); why != "" {
			p.Doubts = append(p.Doubts, why)
		}
		out = append(out, p)
	}
	return out
}

// outside says why no pilot lies on the far side of a setting; "" where one
// does. A memory limit is placed by the work and the memory that it makes.
func (m *Model) outside(p Prediction) string {
	const slack = 1.02
	order := func(gc cell.GC) uint { return uint(gc.Percent) } // off is the greatest
	least, most := m.pilots[0].GC, m.pilots[0].GC              // the default: the search begins with it
	seconds, peak := 0.0, 0.0
	for _, pilot := range m.pilots {
		if pilot.GC == p.GC {
			return ""
		}
		if gc := pilot.GC; gc.LimitBytes == 0 && order(gc) < order(least) {
			least = gc
		} else if gc.LimitBytes == 0 && order(gc) > order(most) {
			most = gc
		}
		seconds, peak = max(seconds, pilot.GCSeconds), max(peak, pilot.PeakBytes)
	}
	switch {
	case p.GC.LimitBytes > 0 && p.x[1] > slack*seconds:
		return "outside of what was run: no run collected as much"
	case p.GC.LimitBytes > 0 && p.PeakBytes.Mid > slack*peak:
		return "outside of what was run: no run occupied as much"
	case p.GC.LimitBytes > 0:
		return ""
	case order(p.GC) < order(least):
		return "outside of what was run: the least GOGC was " + least.GOGC()
	case order(p.GC) > order(most):
		return "outside of what was run: the greatest GOGC was " + most.GOGC()
	}
	return ""
}

// frontier returns the predictions that no other one beats in both CPU time
// and peak memory, by ascending memory. Settings under which the program crawls
// are left out, unless it does under each.
func frontier(all []Prediction) []Prediction {
	crawls := func(p Prediction) bool { return p.crawls }
	if all = slices.Clone(all); slices.ContainsFunc(all, func(p Prediction) bool { return !p.crawls }) {
		all = slices.DeleteFunc(all, crawls)
	}
	slices.SortStableFunc(all, func(a, b Prediction) int {
		return cmp.Or(cmp.Compare(a.PeakBytes.Mid, b.PeakBytes.Mid), cmp.Compare(a.CPU.Mid, b.CPU.Mid))
	})
	var out []Prediction
	for _, p := range all {
		if len(out) == 0 || p.CPU.Mid < out[len(out)-1].CPU.Mid {
			out = append(out, p)
		}
	}
	return out
}

// OnFrontier reports whether no other setting beats it, as predicted.
func (r *Answer) OnFrontier(gc cell.GC) bool {
	return slices.ContainsFunc(r.Frontier, func(p Prediction) bool { return p.GC == gc })
}

// Unsure reports whether the prediction has a doubt that not all others have
// too: one of the setting, beside those of the model.
func (r *Answer) Unsure(p Prediction) bool {
	return slices.ContainsFunc(p.Doubts, func(doubt string) bool {
		return slices.ContainsFunc(r.Predicted, func(other Prediction) bool { return !slices.Contains(other.Doubts, doubt) })
	})
}
