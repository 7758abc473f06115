package tune

import (
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Measured is what the runs under one setting showed: of each figure the
// median, the least and the greatest. Wall and CPU are seconds.
type Measured struct {
	GC        cell.GC  `json:"gc"`
	Runs      int      `json:"runs"`
	Wall      Interval `json:"wall_seconds"`
	CPU       Interval `json:"cpu_seconds"`
	GCShare   Interval `json:"gc_share"`
	PeakBytes Interval `json:"peak_bytes"`
	GoalBytes Interval `json:"goal_bytes"`
	Cycles    int      `json:"cycles"`
}

// measuredOf gathers what pilots showed, by setting, in the order of the first
// run of each.
func measuredOf(pilots []Pilot) (out []Measured) {
	var order []cell.GC
	by := map[cell.GC][]Pilot{}
	for _, p := range pilots {
		if by[p.GC] == nil {
			order = append(order, p.GC)
		}
		by[p.GC] = append(by[p.GC], p)
	}
	for _, gc := range order {
		of := func(figure func(Pilot) float64) Interval {
			var values []float64
			for _, p := range by[gc] {
				values = append(values, figure(p))
			}
			return Interval{median(values), slices.Min(values), slices.Max(values)}
		}
		out = append(out, Measured{GC: gc, Runs: len(by[gc]), Wall: of(func(p Pilot) float64 { return p.Wall }),
			CPU:       of(func(p Pilot) float64 { return p.CPU }),
			GCShare:   of(func(p Pilot) float64 { return p.GCSeconds / p.CPU }),
			PeakBytes: of(func(p Pilot) float64 { return p.PeakBytes }),
			GoalBytes: of(func(p Pilot) float64 { return p.MeanGoalBytes }),
			Cycles:    int(of(func(p Pilot) float64 { return float64(p.Cycles) }).Mid)})
	}
	return out
}

// A kind is a figure that is predicted and measured.
type kind struct {
	name  string
	error float64 // standard deviation of the model, relative or, of a share, in points
	share bool
	of    func(*Prediction) *Interval
	was   func(*Measured) Interval
}

const (
	cpuKind  = "CPU time"
	wallKind = "wall time"
	peakKind = "peak memory"
	goalKind = "heap goal" // is not printed
)

var kinds = []kind{
	{cpuKind, 0.04, false, func(p *Prediction) *Interval { return &p.CPU }, func(m *Measured) Interval { return m.CPU }},
	{wallKind, 0.05, false, func(p *Prediction) *Interval { return &p.Wall },
		func(m *Measured) Interval { return m.Wall }},
	{"GC share", 0.02, true, func(p *Prediction) *Interval { return &p.GCShare },
		func(m *Measured) Interval { return m.GCShare }},
	{peakKind, 0.06, false, func(p *Prediction) *Interval { return &p.PeakBytes },
		func(m *Measured) Interval { return m.PeakBytes }},
	{goalKind, 0.04, false, func(p *Prediction) *Interval { return &p.GoalBytes },
		func(m *Measured) Interval { return m.GoalBytes }},
}

// residual is by how much the measured value is above the predicted one; ok is
// false where there is no saying.
func (k kind) residual(predicted, measured float64) (r float64, ok bool) {
	if k.share {
		return measured - predicted, true
	}
	if predicted <= 0 || measured <= 0 {
		return 0, false
	}
	return math.Log(measured / predicted), true
}

// A learned is what the runs say about the predictions of one kind. The model's
// error is modelled as a Gaussian process over the logarithm of the peak memory
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.2): near a
// setting that was run, what it was off by there corrects the prediction.
type learned struct {
	kind
	at      []float64   // logarithms to base 2 of the predicted peaks that were run
	inverse [][]float64 // of the covariance there
	weights []float64   // of the correction
	noise   float64     // standard deviation of a run
	wide    float64     // factor of intervals
	refused string      // why there is no prediction; "" where there is
}

const (
	// reach is over how many doublings of memory an error of the model lasts.
	reach = 1.5
	// wrong is from which factor on a prediction is not refined but refused, and
	// wrongShare the same in points of a share.
	wrong, wrongShare = 1.6, 0.2
	// mostWide is how much wider intervals may become to hold what was run, and
	// vague from which share on an interval to either side says nothing.
	mostWide, vague = 2.5, 0.6
)

func place(p *Prediction) float64 { return math.Log2(max(p.x[2], leastOther)) }

// learn compares the predictions with every run of the pilots.
func (m *Model) learn() {
	m.seen = measuredOf(m.pilots)
	seen := m.seen
	var predicted []Prediction
	for _, s := range seen {
		predicted = append(predicted, m.Predict(s.GC))
	}
	waiting := 0.0
	for _, p := range m.pilots {
		waiting += p.Waiting / float64(len(m.pilots))
	}
	m.kinds = nil
	for _, k := range kinds {
		l := learned{kind: k, noise: runNoise(k, seen, waiting), wide: 1}
		var off, spread []float64
		for i := range seen {
			r, ok := k.residual(k.of(&predicted[i]).Mid, k.was(&seen[i]).Mid)
			if !ok {
				continue
			}
			bound := max(math.Log(wrong), 4*l.noise)
			if k.share {
				bound = wrongShare
			}
			if math.Abs(r) > bound && l.refused == "" {
				l.refused = fmt.Sprintf("%s is not predicted: at %s the model expected %s, and the runs measured %s", k.name,
					seen[i].GC,
					k.text(k.of(&predicted[i]).Mid), k.text(k.was(&seen[i]).Mid))
			}
			l.at, off = append(l.at, place(&predicted[i])), append(off, r)
			spread = append(spread, l.noise*l.noise/float64(seen[i].Runs))
		}
		l.solve(off, spread)
		for i := range seen {
			l.widen(predicted[i], k.was(&seen[i]).Mid)
		}
		m.kinds = append(m.kinds, l)
	}
}

// widen makes intervals wide enough for a run, or refuses to predict.
func (l *learned) widen(p Prediction, was float64) {
	l.correct(&p)
	i := l.of(&p)
	half := max(i.Hi-i.Mid, 1e-12)
	if was < i.Mid {
		half = max(i.Mid-i.Lo, 1e-12)
	}
	factor := math.Abs(was-i.Mid) / half
	if factor <= 1 || was <= 0 {
		return
	}
	l.wide *= 1.05 * factor
	if l.wide > mostWide && l.refused == "" {
		l.refused = fmt.Sprintf("%s is not predicted: runs fell outside its intervals", l.name)
	}
}

func (k kind) text(v float64) string {
	switch {
	case k.share:
		return fmt.Sprintf("%.0f %%", 100*v)
	case k.name == cpuKind || k.name == wallKind:
		return valueText(cell.WallTime, v)
	}
	return bytesText(v)
}

// runNoise is by how much equal runs differ, pooled over settings; more is
// expected before it is seen where runs waited for CPUs, but for memory.
func runNoise(k kind, seen []Measured, waiting float64) float64 {
	least := 0.02
	if k.share {
		least = 0.004
	}
	if k.name != peakKind && k.name != goalKind {
		least *= 1 + 4*waiting
	}
	square, n := 4*least*least, 4.0
	for _, s := range seen {
		i := k.was(&s)
		if s.Runs < 2 || i.Mid <= 0 {
			continue
		}
		// The range of n values of a normal distribution is about 1.1 times their
		// deviation for 2, and 2.3 for 5.
		d := (i.Hi - i.Lo) / (0.75 + 0.31*float64(s.Runs))
		if !k.share {
			d /= i.Mid
		}
		square, n = square+float64(s.Runs-1)*d*d, n+float64(s.Runs-1)
	}
	return math.Sqrt(square / n)
}

func (l *learned) covariance(a, b float64) float64 {
	return l.error * l.error * math.Exp(-math.Abs(a-b)/reach)
}

// solve prepares corrections from what was measured beyond the predictions.
func (l *learned) solve(off, spread []float64) {
	n := len(off)
	matrix := make([][]float64, n)
	for i := range n {
		matrix[i] = make([]float64, n)
		for j := range n {
			matrix[i][j] = l.covariance(l.at[i], l.at[j])
		}
		matrix[i][i] += spread[i]
	}
	l.inverse = invert(matrix)
	l.weights = make([]float64, n)
	for i := range n {
		for j := range n {
			l.weights[i] += l.inverse[i][j] * off[j]
		}
	}
}

// correct moves the figure of a prediction by what was learned, and gives it the
// interval that is left.
func (l *learned) correct(p *Prediction) {
	i := l.of(p)
	if i.Mid <= 0 && !l.share {
		return
	}
	x := place(p)
	k := make([]float64, len(l.at))
	move := 0.0
	for j := range k {
		k[j] = l.covariance(x, l.at[j])
		move += k[j] * l.weights[j]
	}
	left := l.error * l.error
	for a := range k {
		for b := range k {
			left -= k[a] * l.inverse[a][b] * k[b]
		}
	}
	left = math.Sqrt(max(left, 0)) / l.error
	if l.share {
		above, below := (i.Hi-i.Mid)*left, (i.Mid-i.Lo)*left
		own := z90 * l.noise
		mid := min(max(i.Mid+move, 0), 1)
		*i = Interval{mid, max(mid-l.wide*math.Hypot(below, own), 0), min(mid+l.wide*math.Hypot(above, own), 1)}
		return
	}
	above, below := (i.Hi/i.Mid-1)*left, (1-i.Lo/i.Mid)*left
	own := z90 * l.noise
	mid := i.Mid * math.Exp(move)
	*i = Interval{mid, mid * max(1-l.wide*math.Hypot(below, own), 0), mid * (1 + l.wide*math.Hypot(above, own))}
}

// Expect is Predict corrected by all runs: with the measured figures where the setting
// ran, and without those that runs contradict.
func (m *Model) Expect(gc cell.GC) Prediction {
	p := m.Predict(gc)
	for _, s := range m.seen {
		if s.GC.Percent == gc.Percent && s.GC.LimitBytes == gc.LimitBytes {
			p.Measured, p.crawls = &s, s.GCShare.Mid > maxGCShare
		}
	}
	for i := range m.kinds {
		l := &m.kinds[i]
		switch {
		case l.refused == "":
			l.correct(&p)
			if !l.share && p.Measured == nil && l.of(&p).wide() > vague {
				*l.of(&p) = Interval{}
				p.Withheld = append(p.Withheld, l.name)
			}
		case p.Measured == nil:
			*l.of(&p) = Interval{}
			p.Withheld = append(p.Withheld, l.name)
		default:
			*l.of(&p) = l.was(p.Measured)
		}
	}
	return p
}

// refused says which figures are not predicted, and why.
func (m *Model) refused() (out []string) {
	for _, l := range m.kinds {
		if l.refused != "" && l.name != goalKind {
			out = append(out, l.refused)
		}
	}
	return out
}

// invert inverts a symmetric positive definite matrix by elimination.
func invert(m [][]float64) [][]float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range n {
		a[i] = append(slices.Clone(m[i]), make([]float64, n)...)
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
	}
	return a
}
