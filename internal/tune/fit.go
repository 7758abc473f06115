package tune

import "math"

// terms is the number of coefficients of a fit: the work itself, what a second
// of the collector's CPU time costs, and what a byte of peak memory costs.
const terms = 3

type vector [terms]float64

// A fit is a Bayesian linear regression of seconds on [1, GC seconds, peak
// bytes] with known relative noise and Gaussian priors on the last two
// coefficients (Gelman et al., Bayesian Data Analysis, 14.8). With one run the
// priors speak; each further run moves it towards what was measured.
type fit struct {
	mean  vector
	cov   [terms][terms]float64
	noise float64 // relative standard deviation of one run
}

// An observation is one run.
type observation struct {
	x vector
	y float64
	// rough is by how much more than others it may be off, 0 for not at all: a run
	// that waited for CPUs counts less.
	rough float64
}

// A prior is what is known of a coefficient before any run.
type prior struct{ mean, deviation float64 }

// trust is how many runs the noise given counts as much as.
const trust = 4

// newFit computes the posterior. Residuals beyond the noise given widen it.
func newFit(obs []observation, priors [terms]prior, noise float64) fit {
	f := posterior(obs, priors, noise)
	sum := trust * noise * noise
	for _, o := range obs {
		r := (o.y - dot(f.mean, o.x)) / o.y / (1 + o.rough)
		sum += r * r
	}
	if refined := math.Sqrt(sum / float64(trust+max(len(obs)-2, 0))); refined > noise {
		f = posterior(obs, priors, refined)
	}
	return f
}

func posterior(obs []observation, priors [terms]prior, noise float64) fit {
	var precision [terms][terms]float64
	var weighted vector
	for i, p := range priors {
		w := 1 / (p.deviation * p.deviation)
		precision[i][i] = w
		weighted[i] = w * p.mean
	}
	for _, o := range obs {
		deviation := noise * (1 + o.rough) * o.y
		w := 1 / (deviation * deviation)
		for i := range terms {
			weighted[i] += w * o.x[i] * o.y
			for j := range terms {
				precision[i][j] += w * o.x[i] * o.x[j]
			}
		}
	}
	f := fit{cov: inverse(precision), noise: noise}
	for i := range terms {
		for j := range terms {
			f.mean[i] += f.cov[i][j] * weighted[j]
		}
	}
	return f
}

// variance is the covariance of the means at x and y.
func (f *fit) variance(x, y vector) float64 {
	var v float64
	for i := range terms {
		for j := range terms {
			v += x[i] * f.cov[i][j] * y[j]
		}
	}
	return v
}

func dot(a, b vector) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// inverse inverts a symmetric positive definite matrix, scaled so that terms
// of very different units do not lose digits.
func inverse(m [terms][terms]float64) (inv [terms][terms]float64) {
	var scale vector
	for i := range terms {
		scale[i] = 1 / math.Sqrt(m[i][i])
	}
	a := make([][]float64, terms)
	for i := range terms {
		for j := range terms {
			a[i] = append(a[i], m[i][j]*scale[i]*scale[j])
		}
	}
	a = invert(a)
	for i := range terms {
		for j := range terms {
			inv[i][j] = a[i][j] * scale[i] * scale[j]
		}
	}
	return inv
}
