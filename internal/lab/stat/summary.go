package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is the level of all intervals, alpha that of all tests.
const (
	confidence = 0.95
	alpha      = 0.05
)

// Summarize returns the median of a series with its confidence interval; all
// figures are 0 for an empty series.
func Summarize(s Series) Summary {
	if len(s.Values) == 0 {
		return Summary{Warnings: []string{"no values"}}
	}
	sample := benchmath.NewSample(slices.Clone(s.Values), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(sample, confidence)
	out := Summary{N: len(s.Values), Median: sum.Center, Lo: sum.Lo, Hi: sum.Hi}
	if math.IsInf(sum.Lo, 0) || math.IsInf(sum.Hi, 0) {
		out.Lo, out.Hi = sample.Values[0], sample.Values[len(sample.Values)-1]
	}
	for _, w := range sum.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return out
}

// Median returns the median of values, 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return median(slices.Sorted(slices.Values(values)))
}

// median returns the median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return middle(sorted[(n-1)/2], sorted[n/2])
}

// middle returns the mean of x and y, which may be infinite.
func middle(x, y float64) float64 {
	if x == y {
		return x
	}
	return x/2 + y/2
}
