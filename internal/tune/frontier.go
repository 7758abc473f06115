package tune

import (
	"cmp"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// curvePercents are the GOGC values of the curve and the search.
var curvePercents = []int{10, 25, 50, 100, 200, 400, 800, 1600, 3200}

// steps returns the sizes that limits take: two per doubling, 16, 24, 32, 48, 64 MiB and so on.
// They do not depend on measurements, so two studies of a program choose among the same settings,
// and are so far apart that noise seldom moves the choice.
func steps(from, to int64) (out []int64) {
	for at, unit := int64(4*mib), int64(2*mib); len(out) == 0 || out[len(out)-1] < to; at += unit {
		if at >= 4*unit {
			unit *= 2
		}
		if at >= from {
			out = append(out, at)
		}
	}
	return out
}

// limits returns the steps from clearance times the cliff to the first at or above the roof.
func limits(cliff int64, clearance float64, roof int64) []int64 {
	if cliff <= 0 || cliff >= roof {
		return nil
	}
	return steps(int64(clearance*float64(cliff)), roof)
}

// roundUp rounds a size up to a step.
func roundUp(size int64) int64 { return steps(size, size)[0] }

// roof is the GOMEMLIMIT, in bytes, above which the limit triggers no collection: it is at least what a run without a
// limit took, as gctrace does not show what was allocated after the last collection.
func (m *Model) roof() int64 {
	used := m.expect(cell.DisabledGC).peak
	used = max(used/(1-limitReserve), used+mib) + m.usuallyBeyond()
	for _, p := range m.pilots {
		if p.GC.LimitBytes == 0 {
			used = max(used, p.PeakBytes)
		}
	}
	return int64(used)
}

// frontier returns the predictions that no other beats in both CPU time and peak memory, by
// ascending memory. It leaves out withheld predictions.
func frontier(all []Prediction) []Prediction {
	unknown := func(p Prediction) bool { return p.CPU.Mid <= 0 || p.PeakBytes.Mid <= 0 }
	all = slices.DeleteFunc(slices.Clone(all), unknown)
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

// onFrontier reports whether no other predicted setting beats gc in both CPU time and memory.
func (r *Answer) onFrontier(gc cell.GC) bool {
	return slices.ContainsFunc(r.Frontier, func(p Prediction) bool { return p.GC == gc })
}
