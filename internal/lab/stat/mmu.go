package stat

import (
	"slices"
	"sort"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// MMU returns the minimum mutator utilization for each window (Cheng and
// Blelloch, PLDI 2001): over all intervals of that length within duration, the
// smallest share not stopped by any pause. Without pauses it is 1. Windows
// longer than duration count as duration. Only stops of the world count;
// assists and workers that take a CPU do not.
func MMU(pauses []cell.Pause, duration time.Duration, windows []time.Duration) []float64 {
	stops := merge(pauses, int64(duration))
	before := make([]int64, len(stops)+1) // time stopped before stop i began
	for i, s := range stops {
		before[i+1] = before[i] + s.end - s.begin
	}
	// until returns how long the program was stopped in [0, t).
	until := func(t int64) int64 {
		i := sort.Search(len(stops), func(i int) bool { return stops[i].end > t })
		if i == len(stops) {
			return before[i]
		}
		return before[i] + max(0, t-stops[i].begin)
	}
	out := make([]float64, len(windows))
	for k, window := range windows {
		w := max(1, min(int64(window), int64(duration)))
		worst := int64(0)
		// The worst interval begins with a stop or ends with one.
		for _, s := range stops {
			for _, from := range [2]int64{s.begin, s.end - w} {
				from = max(0, min(from, int64(duration)-w))
				worst = max(worst, until(from+w)-until(from))
			}
		}
		out[k] = 1 - float64(worst)/float64(w)
	}
	return out
}

// A stop is an interval in nanoseconds.
type stop struct{ begin, end int64 }

// merge turns pauses into ordered, disjoint stops within [0, duration).
func merge(pauses []cell.Pause, duration int64) []stop {
	var all []stop
	for _, p := range pauses {
		s := stop{max(0, p.AtNs-p.Ns), min(p.AtNs, duration)}
		if s.begin < s.end {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stop) int { return int(min(max(a.begin-b.begin, -1), 1)) })
	var out []stop
	for _, s := range all {
		if n := len(out); n > 0 && s.begin <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}
