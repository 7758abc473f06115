package stat

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/aclements/go-moremath/mathx"
)

// bootstrapMedian returns the percentile interval of the median under the
// bootstrap, which draws n of the n sorted values with replacement. For the
// median this distribution has a closed form (Efron 1979). The result is the
// limit of infinitely many resamples and needs no random numbers.
//
// For up to 5 values the interval is their range.
func bootstrapMedian(sorted []float64) (lo, hi float64) {
	support := bootstrapDistribution(len(sorted))
	type point struct{ value, p float64 }
	points := make([]point, 0, len(support))
	for _, s := range support {
		points = append(points, point{middle(sorted[s.i], sorted[s.j]), s.p})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	const tail = (1 - confidence) / 2
	lo, hi = points[0].value, points[len(points)-1].value
	sum := 0.0
	for _, p := range points {
		if sum += p.p; sum >= tail {
			lo = p.value
			break
		}
	}
	sum = 0
	for i := len(points) - 1; i >= 0; i-- {
		if sum += points[i].p; sum >= tail {
			hi = points[i].value
			break
		}
	}
	return lo, hi
}

// An outcome: with probability p, the median of a resample is the mean of
// values i and j, in ascending order from 0.
type outcome struct {
	i, j int
	p    float64
}

// distributions holds the results of bootstrapDistribution by n.
var distributions sync.Map

// bootstrapDistribution returns the outcomes for n values, except those of
// negligible probability.
func bootstrapDistribution(n int) []outcome {
	if known, ok := distributions.Load(n); ok {
		return known.([]outcome)
	}
	const negligible = 1e-9
	lower := (n + 1) / 2 // the rank, from 1, of the lower middle value
	// atMost[k] is the probability that the lower middle value is among the first
	// k: the binomial tail of at least lower draws of n, as an incomplete beta function.
	atMost := make([]float64, n+1)
	for k := 1; k <= n; k++ {
		atMost[k] = mathx.BetaInc(float64(k)/float64(n), float64(lower), float64(n-lower+1))
	}
	var out []outcome
	for i := range n {
		p := atMost[i+1] - atMost[i]
		if p < negligible {
			continue
		}
		if n%2 == 0 {
			// Half of the draws are up to i, the largest of them i; half are from j on,
			// the smallest of them j.
			m := float64(n / 2)
			ways := mathx.Lchoose(n, n/2)
			below := logDifference(m*math.Log(float64(i+1)/float64(n)), m*math.Log(float64(i)/float64(n)))
			for j := i + 1; j < n; j++ {
				above := logDifference(m*math.Log(float64(n-j)/float64(n)), m*math.Log(float64(n-j-1)/float64(n)))
				if both := math.Exp(ways + below + above); both >= negligible {
					out = append(out, outcome{i, j, both})
					p -= both
				}
			}
		}
		out = append(out, outcome{i, i, max(p, 0)})
	}
	distributions.Store(n, out)
	return out
}

// logDifference is log(exp(x) - exp(y)) for x > y.
func logDifference(x, y float64) float64 { return x + math.Log1p(-math.Exp(y-x)) }
