package tune

import (
	"math"
	"slices"
)

// terms is the number of coefficients of a fit. For times they are the program's own work, the
// cost of a second of the collector's CPU time, the cost of a byte of peak memory, and of waiting
// for a CPU. For other figures they are a factor, and its change with distance.
const terms = 4

type vector [terms]float64

// A fit is Gaussian process regression with a linear mean (Rasmussen and Williams, Gaussian
// Processes for Machine Learning, 2.7). A figure is the sum of regressors times coefficients with
// Gaussian priors, of a model error that similar settings share, and of the noise of a run. The
// runs scale error and noise: predictions have Student's distribution (Shah, Wilson and
// Ghahramani, Student-t Processes as Alternatives to Gaussian Processes, 2014). With one run the
// priors dominate; each further run moves them towards the measurements.
type fit struct {
	priors  [terms]prior
	obs     []observation
	inverse [][]float64 // of the covariance of the observations
	weights []float64   // inverse times the observations less the priors' mean
	// Half-widths of a 90 % interval in standard deviations: as the runs show, and as expected.
	wide, usual float64
}

// A sample is a run, or a question about one.
type sample struct {
	x            vector
	at           place
	error, noise float64 // standard deviations: of the model there, of a run
}

// A place locates a setting: logarithms to base 2 of peak memory and of cycles.
type place [2]float64

// An observation is one run.
type observation struct {
	sample
	y float64
}

// A prior is the distribution of a coefficient before any run.
type prior struct{ mean, deviation float64 }

const (
	// trust is the weight of the expected error and noise, in runs.
	trust = 4
	// reach is the distance, in doublings, over which model errors correlate.
	reach = 0.8
	// outlier is the distance, in half-widths of the 90 % interval, beyond which a run counts less.
	outlier = 1
)

// newFit fits twice: runs that lie outside their interval in the first fit count less in the
// second (Huber, Robust Estimation of a Location Parameter, 1964).
func newFit(obs []observation, priors [terms]prior) fit {
	f := fitOnce(obs, priors)
	obs = slices.Clone(obs)
	for i := range obs {
		mid, half := f.predict(obs[i].sample)
		if off := math.Abs(obs[i].y-mid) / half; half > 0 && off > outlier {
			obs[i].noise *= off / outlier
		}
	}
	return fitOnce(obs, priors)
}

func fitOnce(obs []observation, priors [terms]prior) fit {
	f := fit{priors: priors, obs: obs, weights: make([]float64, len(obs))}
	var beyond []float64
	for _, a := range obs {
		beyond = append(beyond, a.y-f.prior(a.x))
		f.inverse = append(f.inverse, f.with(a.sample))
	}
	for i := range obs {
		f.inverse[i][i] += obs[i].noise * obs[i].noise
	}
	f.inverse = invert(f.inverse)
	surprise := 0.0 // squared deviations of the runs from the model, in its standard deviations
	for i := range obs {
		f.weights[i] = inner(f.inverse[i], beyond)
		surprise += f.weights[i] * beyond[i]
	}
	free := float64(trust + max(len(obs)-1, 0)) // the first run sets the level
	f.usual = studentQuantile(0.95, free)
	f.wide = f.usual * math.Sqrt((trust+surprise)/free)
	return f
}

func (f *fit) prior(x vector) (y float64) {
	for i, p := range f.priors {
		y += x[i] * p.mean
	}
	return y
}

// covariance returns the covariance of two runs, without their noise.
func (f *fit) covariance(a, b *sample) float64 {
	far := math.Abs(a.at[0]-b.at[0]) + math.Abs(a.at[1]-b.at[1])
	v := a.error * b.error * math.Exp(-far/reach)
	for i, p := range f.priors {
		v += a.x[i] * b.x[i] * p.deviation * p.deviation
	}
	return v
}

// with returns the covariances of a question with the runs.
func (f *fit) with(s sample) (out []float64) {
	for i := range f.obs {
		out = append(out, f.covariance(&s, &f.obs[i].sample))
	}
	return out
}

// left returns the standard deviation that remains of a variance, given the runs.
func (f *fit) left(variance float64, with []float64) float64 {
	for i := range with {
		variance -= with[i] * inner(f.inverse[i], with)
	}
	return math.Sqrt(max(variance, 0))
}

// predict returns the expected figure of one run, and half of its 90 % interval.
// Agreement between runs of few settings shows that runs vary little, but not that
// the model fits elsewhere.
func (f *fit) predict(s sample) (mid, half float64) {
	with := f.with(s)
	half = math.Hypot(max(f.wide, f.usual)*f.left(f.covariance(&s, &s), with), f.wide*s.noise)
	return f.prior(s.x) + inner(with, f.weights), half
}

// ratio returns the figure at a over that at b, each the mean of many runs, with its 90 %
// interval; zero if the figure at b is not positive. Agreement between runs narrows only the
// upper bound: the priors already make savings smaller than they are.
func (f *fit) ratio(a, b sample) Interval {
	withA, withB := f.with(a), f.with(b)
	under := f.prior(b.x) + inner(withB, f.weights)
	if under <= 0 {
		return Interval{}
	}
	r := (f.prior(a.x) + inner(withA, f.weights)) / under
	variance := f.covariance(&a, &a) - 2*r*f.covariance(&a, &b) + r*r*f.covariance(&b, &b)
	for i := range withA {
		withA[i] -= r * withB[i]
	}
	deviation := f.left(variance, withA) / under
	return Interval{r, r - max(f.wide, f.usual)*deviation, r + f.wide*deviation}
}

// coefficient returns the posterior of the i-th coefficient.
func (f *fit) coefficient(i int) prior {
	var with []float64
	p := f.priors[i]
	variance := p.deviation * p.deviation
	for _, o := range f.obs {
		with = append(with, variance*o.x[i])
	}
	return prior{p.mean + inner(with, f.weights), f.left(variance, with)}
}

// atMost returns a bound that the i-th coefficient hardly exceeds.
func (f *fit) atMost(i int) float64 {
	c := f.coefficient(i)
	return max(c.mean+2*c.deviation, 0)
}

func inner(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// invert inverts a symmetric positive definite matrix by elimination. It scales the matrix first,
// so that figures of very different units lose no digits.
func invert(m [][]float64) [][]float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range n {
		a[i] = make([]float64, 2*n)
		for j := range n {
			a[i][j] = m[i][j] / math.Sqrt(m[i][i]*m[j][j])
		}
		a[i][n+i] = 1
	}
	for i := range n {
		pivot := a[i][i]
		for j := range a[i] {
			a[i][j] /= pivot
		}
		for k := range n {
			if k == i {
				continue
			}
			factor := a[k][i]
			for j := range a[k] {
				a[k][j] -= factor * a[i][j]
			}
		}
	}
	for i := range n {
		a[i] = a[i][n:]
		for j := range n {
			a[i][j] /= math.Sqrt(m[i][i] * m[j][j])
		}
	}
	return a
}
