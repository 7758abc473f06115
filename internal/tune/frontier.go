package tune

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// curvePercents are the GOGC values of the curve and of the search.
var curvePercents = []int{10, 15, 25, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200}

// limits are values of GOMEMLIMIT from a little above the cliff to the first above the
// roof, eight per doubling.
func limits(cliff, roof int64) (out []int64) {
	if cliff <= 0 || cliff >= roof {
		return nil
	}
	last := int64(0)
	for at := leastMargin * float64(cliff); last < roof && len(out) < 200; at *= math.Pow(2, 1.0/8) {
		last = roundUp(int64(at))
		out = append(out, last)
	}
	return slices.Compact(out)
}

// roundUp rounds a size up to six significant bits and whole MiB.
func roundUp(size int64) int64 {
	unit := max(int64(1)<<max(bits.Len64(uint64(size))-6, 0), mib)
	return (size + unit - 1) / unit * unit
}

// roof is the GOMEMLIMIT, in bytes, above which the limit triggers no collection.
func (m *Model) roof() int64 {
	used := m.expect(cell.DisabledGC).peak
	used = max(used/(1-limitReserve), used+mib)
	return int64(used + m.other(used+usualBeyond))
}

// frontier returns the predictions that no other beats in both CPU time and peak
// memory, by ascending memory. It leaves out what is not predicted.
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

// OnFrontier reports whether no other setting beats it, as predicted.
func (r *Answer) OnFrontier(gc cell.GC) bool {
	return slices.ContainsFunc(r.Frontier, func(p Prediction) bool { return p.GC == gc })
}

// Unsure reports whether the prediction should be measured: it has a doubt that others
// do not have, or a withheld figure. A measured setting is sure.
func (r *Answer) Unsure(p Prediction) bool {
	if p.Measured != nil {
		return false
	}
	return len(p.Withheld) > 0 || slices.ContainsFunc(p.Doubts, func(doubt string) bool {
		return slices.ContainsFunc(r.Predicted, func(other Prediction) bool { return !slices.Contains(other.Doubts, doubt) })
	})
}
