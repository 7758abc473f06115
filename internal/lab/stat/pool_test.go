package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// TestPoolKnown checks results that can be derived by hand.
func TestPoolKnown(t *testing.T) {
	t975 := map[int]float64{1: 12.7062, 2: 4.3027, 3: 3.1824}
	one := Pool([]float64{2}, []float64{0.5})
	if one.Mean != 2 || !near(one.Lo, 2-0.97998, 1e-4) || one.Between != 0 {
		t.Errorf("one run: %+v", one)
	}
	if lo, hi := one.Next(0); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("one run predicts [%v, %v]", lo, hi)
	}
	// With equal errors the mean is unweighted, and the variance between runs is that of the
	// estimates less that of a run.
	for _, values := range [][]float64{{0, 2}, {-1, 0, 1}, {1, 2, 3, 6}} {
		const err = 0.1
		mean, squares, k := 0.0, 0.0, float64(len(values))
		for _, v := range values {
			mean += v / k
		}
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		errors := make([]float64, len(values))
		for i := range errors {
			errors[i] = err
		}
		p := Pool(values, errors)
		variance := squares / (k - 1)
		half := t975[len(values)-1] * math.Sqrt(variance/k)
		if !near(p.Mean, mean, 1e-9) || !near(p.Between*p.Between, variance-err*err, 1e-6) || !near(p.Hi-p.Mean, half, 1e-3*half) {
			t.Errorf("%v: %+v, want mean %v, variance between %v, half %v", values, p, mean, variance-err*err, half)
		}
		lo, hi := p.Next(err)
		if want := t975[len(values)-1] * math.Sqrt(variance*(1+1/k)); !near((hi-lo)/2, want, 1e-3*want) {
			t.Errorf("%v: next within %v, want %v", values, (hi-lo)/2, want)
		}
	}
	// Runs that agree better than their errors suggest have no variance between them,
	// and the interval keeps the errors.
	p := Pool([]float64{1, 1, 1}, []float64{0.3, 0.3, 0.3})
	if p.Between != 0 || !near(p.Hi-p.Mean, 4.3027*0.3/math.Sqrt(3), 1e-3) {
		t.Errorf("agreeing runs: %+v", p)
	}
	// A precise run counts for more.
	if p := Pool([]float64{0, 1}, []float64{0.1, 1.2}); !near(p.Mean, 0.01/1.45, 1e-9) || p.Between != 0 {
		t.Errorf("unequal errors: %+v", p)
	}
	if p := Pool([]float64{3, 3}, []float64{0, 0}); p.Mean != 3 || p.Between != 0 || math.IsNaN(p.Lo) {
		t.Errorf("equal counts: %+v", p)
	}
	if p := Pool(nil, nil); p.Runs != 0 || !math.IsNaN(p.Mean) {
		t.Errorf("no runs: %+v", p)
	}
}

// TestPoolCovers: the interval contains the true mean, and the prediction the next
// run, about 19 times out of 20.
func TestPoolCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rounds = 2000
	for _, between := range []float64{0, 0.05, 0.3} {
		for _, runs := range []int{2, 4, 8} {
			mean, next := 0, 0
			for range rounds {
				var values, errors []float64
				for range runs {
					err := 0.02 + 0.2*random.Float64()
					values = append(values, 1+between*random.NormFloat64()+err*random.NormFloat64())
					errors = append(errors, err)
				}
				p := Pool(values, errors)
				if p.Lo <= 1 && 1 <= p.Hi {
					mean++
				}
				lo, hi := p.Next(0.1)
				if y := 1 + between*random.NormFloat64() + 0.1*random.NormFloat64(); lo <= y && y <= hi {
					next++
				}
			}
			if mean < rounds*93/100 || next < rounds*92/100 {
				t.Errorf("%v between %d runs: the mean is covered %d times, the next run %d times of %d", between, runs, mean, next, rounds)
			}
		}
	}
}

// TestPoolShifts: the result moves and scales with the estimates, whatever their order.
func TestPoolShifts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 2 + random.IntN(6)
		values, errors, moved, scaled, reversed := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		back := make([]float64, n)
		for i := range values {
			values[i], errors[i] = random.NormFloat64(), 0.1+random.Float64()
			moved[i], scaled[i] = values[i]+5, 3*values[i]
			reversed[n-1-i], back[n-1-i] = values[i], errors[i]
		}
		p, m, r := Pool(values, errors), Pool(moved, errors), Pool(reversed, back)
		wide := make([]float64, n)
		for i := range wide {
			wide[i] = 3 * errors[i]
		}
		s := Pool(scaled, wide)
		if !near(m.Mean, p.Mean+5, 1e-6) || !near(m.Between, p.Between, 1e-6) || !near(s.Hi, 3*p.Hi, 1e-5) || !near(r.Lo, p.Lo, 1e-6) {
			t.Fatalf("%v, %v: %+v moved %+v scaled %+v reversed %+v", values, errors, p, m, s, r)
		}
	}
}
