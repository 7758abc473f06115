package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A Pooled combines the results of several runs on an effect that differs between
// runs (random effects). The caller chooses the scale: one on which errors are about
// normal, such as the logarithm of a ratio.
//
// The variance between runs is that of Paule and Mandel (J. Res. Natl. Bur.
// Stand. 87, 1982). The interval is that of Hartung and Knapp (Statistics in
// Medicine 20, 2001), never narrower than the errors of the runs alone would
// make it (Röver, Knapp and Friede, BMC Medical Research Methodology 15, 2015).
type Pooled struct {
	Runs    int
	Mean    float64
	Lo, Hi  float64 // of the mean, at 95 %
	Between float64 // standard deviation between runs; 0 for one run, which cannot show it
	ofMean  float64 // standard error of the mean
}

// Pool combines the estimates of runs with their standard errors. Errors below 1e-4 are raised to
// that: equal counts do not show how much they vary.
func Pool(estimates, errors []float64) Pooled {
	p := Pooled{Runs: len(estimates), Mean: math.NaN()}
	variances := make([]float64, len(errors))
	for i, e := range errors {
		variances[i] = max(e, leastSpread) * max(e, leastSpread)
	}
	if p.Runs == 0 {
		return p
	}
	between := betweenRuns(estimates, variances)
	mean, weight, q := weighted(estimates, variances, between)
	p.Mean, p.Between, p.ofMean = mean, math.Sqrt(between), 1/math.Sqrt(weight)
	if p.Runs > 1 {
		p.ofMean *= math.Sqrt(max(1, q/float64(p.Runs-1)))
	}
	half := p.quantile() * p.ofMean
	p.Lo, p.Hi = mean-half, mean+half
	return p
}

// Next returns the interval in which another run with the given standard error would find the
// effect 19 times out of 20 (Higgins, Thompson and Spiegelhalter, J. R. Statist. Soc. A 172,
// 2009; with the degrees of freedom of Partlett and Riley, Statistics in Medicine 36, 2017). It
// is infinite for a single run, which cannot tell.
func (p Pooled) Next(err float64) (lo, hi float64) {
	if p.Runs < 2 {
		return math.Inf(-1), math.Inf(1)
	}
	half := p.quantile() * math.Sqrt(p.Between*p.Between+p.ofMean*p.ofMean+err*err)
	return p.Mean - half, p.Mean + half
}

// quantile returns Student's quantile at 97.5 %, or the normal one for a single run,
// which has only its own error.
func (p Pooled) quantile() float64 {
	if p.Runs < 2 {
		return stats.InvCDF(stats.StdNormal)(0.975)
	}
	return stats.InvCDF(stats.TDist{V: float64(p.Runs - 1)})(0.975)
}

// weighted returns the mean weighted by inverse variance, the sum of the weights, and the
// weighted sum of squared residuals.
func weighted(estimates, variances []float64, between float64) (mean, weight, q float64) {
	for i, y := range estimates {
		w := 1 / (variances[i] + between)
		mean, weight = mean+w*y, weight+w
	}
	mean /= weight
	for i, y := range estimates {
		q += (y - mean) * (y - mean) / (variances[i] + between)
	}
	return mean, weight, q
}

// betweenRuns returns the variance between runs with which the weighted squares equal the degrees
// of freedom; 0 if they are fewer already.
func betweenRuns(estimates, variances []float64) float64 {
	degrees := float64(len(estimates) - 1)
	excess := func(between float64) bool {
		_, _, q := weighted(estimates, variances, between)
		return q > degrees
	}
	if degrees < 1 || !excess(0) {
		return 0
	}
	lo, hi := 0.0, leastSpread
	for excess(hi) && hi < math.MaxFloat64/4 {
		lo, hi = hi, 2*hi
	}
	for range 100 {
		if middle := (lo + hi) / 2; excess(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}
