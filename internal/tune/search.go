package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Search looks for the setting that uses the least memory of all that are
// within a tolerance of the best. It measures where that is least certain. The
// zero value is not usable: Settings and Runs are needed.
type Search struct {
	Objective    Objective
	Served       bool      // a server: its wall time says nothing
	Settings     []cell.GC // candidates
	Anchors      []cell.GC // may be measured for the sake of the model, beside Settings
	Tolerance    float64   // as a share, such as 0.02
	MaxPeakBytes float64   // 0 for no bound
	Runs         int       // at most
	Noise        float64   // relative standard deviation of a run; 0 for a guess
	Seed         uint64
}

// A Candidate is a setting in the race.
type Candidate struct {
	Prediction
	// Within is the probability that the setting is within the tolerance.
	Within float64 `json:"within,omitempty"`
	// Cost is what was measured of an objective that is not predicted, as a
	// ratio to the default.
	Cost *Interval `json:"cost,omitempty"`
	// Out says why the setting is out of the race; "" while it is in.
	Out string `json:"out,omitempty"`
}

// found is where a search ended.
type found struct {
	Model      *Model
	Best       Candidate
	Candidates []Candidate // by ascending memory
	Pilots     []Pilot     // in the order in which they were measured
	Decided    bool        // all other candidates are out
}

// sure is how probable it must be that the choice is within the tolerance.
const sure = 0.86

// Find measures the default first, then an anchor on either side, then round
// after round the settings that tell most, until one candidate is left or all
// runs are spent.
func (s *Search) Find(measure func(gc cell.GC, round int) (Pilot, error)) (found, error) {
	var c found
	take := func(gc cell.GC, round int) error {
		p, err := measure(gc, round)
		if errors.Is(err, ErrInfeasible) && len(c.Pilots) > 0 {
			s.drop(gc)
			return nil
		}
		if err != nil {
			return err
		}
		c.Pilots = append(c.Pilots, p)
		// The first pilot must have cycles; later ones may be without.
		c.Model, err = NewModel(c.Pilots, s.Noise)
		return err
	}
	if err := take(cell.DefaultGC, 0); err != nil {
		return c, err
	}
	for _, gc := range s.anchors(c.Model) {
		if err := take(gc, 0); err != nil {
			return c, err
		}
	}
	rng := rand.New(rand.NewPCG(s.Seed, 2))
	for round := 1; ; round++ {
		s.judge(&c)
		spent := c.Decided || len(c.Pilots) >= s.Runs-1
		arms := []cell.GC{c.Best.GC} // what was chosen must have run once
		switch {
		case spent && (c.measured(c.Best.GC) || c.Best.GC.Percent == 0 || len(c.Pilots) >= s.Runs):
			return c, nil
		case !spent:
			arms = s.arms(&c, min(3, s.Runs-1-len(c.Pilots)))
		}
		rng.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
		for _, gc := range arms {
			if err := take(gc, round); err != nil {
				return c, err
			}
		}
	}
}

func (c *found) measured(gc cell.GC) bool {
	return slices.ContainsFunc(c.Pilots, func(p Pilot) bool { return p.GC == gc })
}

// ErrInfeasible is what a measurement returns where the program cannot run
// under the setting: the search goes on without it and those that want more
// memory.
var ErrInfeasible = errors.New("tune: the program does not run under this setting")

func (s *Search) drop(gc cell.GC) {
	out := func(other cell.GC) bool {
		return other == gc || gc.Percent >= 100 && percent(other) >= percent(gc) && other.LimitBytes == 0 ||
			gc.Percent < 0 && other.Percent < 0
	}
	s.Settings = slices.DeleteFunc(slices.Clone(s.Settings), out)
	s.Anchors = slices.DeleteFunc(slices.Clone(s.Anchors), func(other cell.GC) bool { return other == gc })
}

// anchors returns the settings of the next two pilots: a low one at which
// collection takes about 30 % of the CPU time, which shows what its CPU time
// costs, and a high one at which it takes next to nothing, within the bound.
func (s *Search) anchors(m *Model) []cell.GC {
	all := slices.Concat(s.Settings, s.Anchors)
	var low, high Prediction
	for _, gc := range all {
		p := m.Predict(gc)
		if gc.LimitBytes > 0 || s.MaxPeakBytes > 0 && p.PeakBytes.Hi > s.MaxPeakBytes {
			continue
		}
		if share := p.GCShare.Mid; len(p.Doubts) == len(m.doubts) && share < 0.35 && gc.Percent > 0 &&
			share > low.GCShare.Mid {
			low = p
		}
		if gc.Percent > 100 && gc.Percent <= 800 && (high.GC.Percent == 0 || p.GCShare.Mid < high.GCShare.Mid) {
			high = p
		}
	}
	var out []cell.GC
	if low.GC.Percent > 0 && low.GC.Percent < 100 {
		out = append(out, low.GC)
	}
	if high.GC.Percent > 0 {
		out = append(out, high.GC)
	}
	return out
}

func (s *Search) fitOf(m *Model) *fit {
	if s.Objective == CPU || s.Served {
		return &m.cpu
	}
	return &m.wall
}

const (
	tooLarge = "may occupy more than is allowed"
	tooNear  = "its memory limit is too near to where the program crawls"
	// leastMargin is how far a memory limit must be above the cliff.
	leastMargin = 1.15
)

// infeasible says why a setting is none to choose; "" if it may be.
func (s *Search) infeasible(p Prediction, m *Model) string {
	switch {
	case s.MaxPeakBytes > 0 && p.PeakBytes.Hi > s.MaxPeakBytes:
		return tooLarge
	case p.GC.LimitBytes > 0 && float64(p.GC.LimitBytes) < leastMargin*float64(m.Cliff()):
		return tooNear
	}
	return ""
}

// judge predicts all candidates and says which are still in the race.
func (s *Search) judge(c *found) {
	var predictions []Prediction
	for _, gc := range s.Settings {
		predictions = append(predictions, c.Model.Predict(gc))
	}
	slices.SortStableFunc(predictions, func(a, b Prediction) int {
		return cmp.Compare(a.PeakBytes.Mid, b.PeakBytes.Mid)
	})
	c.Candidates = c.Candidates[:0]
	feasible := predictions[:0:0]
	for _, p := range predictions {
		if why := s.infeasible(p, c.Model); why != "" {
			c.Candidates = append(c.Candidates, Candidate{Prediction: p, Out: why})
		} else {
			feasible = append(feasible, p)
		}
	}
	if len(feasible) == 0 {
		c.Best, c.Decided = Candidate{}, true
		return
	}
	probable := s.within(c.Model, feasible)
	bonferroni := 0.05 / float64(len(feasible))
	chosen := -1
	open := 0
	var fresh []Candidate
	for i, p := range feasible {
		cand := Candidate{Prediction: p, Within: probable[i]}
		switch {
		case chosen >= 0 && fresh[chosen].Within > 1-bonferroni:
			cand.Out = fmt.Sprintf("uses more memory than %s, which is within %.0f %% of the best", fresh[chosen].GC,
				100*s.Tolerance)
		case cand.Within < bonferroni:
			cand.Out = fmt.Sprintf("slower than the best by more than %.0f %%", 100*s.Tolerance)
		default:
			open++
		}
		fresh = append(fresh, cand)
		if chosen < 0 && cand.Within >= sure {
			chosen = i
		}
	}
	if chosen < 0 { // nothing is likely enough: the likeliest
		for i := range fresh {
			if chosen < 0 || fresh[i].Within > fresh[chosen].Within {
				chosen = i
			}
		}
	}
	c.Best = fresh[chosen]
	c.Candidates = append(c.Candidates, fresh...)
	c.Decided = open <= 1 && c.Best.Within > 1-bonferroni
}

// within returns for each prediction the probability that it is within the
// tolerance: of the best of them, or of the default where memory is wanted.
func (s *Search) within(m *Model, predictions []Prediction) []float64 {
	const samples = 2000
	pool, reference := predictions, -1
	if s.Objective == RSS {
		pool = append(slices.Clone(predictions), m.Predict(cell.DefaultGC))
		reference = len(predictions)
	}
	loss := losses(s.fitOf(m), pool, samples, s.Seed)
	out := make([]float64, len(predictions))
	for i := range predictions {
		for j := range samples {
			l := loss[i][j]
			if reference >= 0 {
				l = (1+l)/(1+loss[reference][j]) - 1
			}
			if l <= s.Tolerance {
				out[i] += 1.0 / samples
			}
		}
	}
	return out
}

// arms returns n settings whose measurement would tell most about how far the
// choice is from the best: each makes the variance of that difference the
// least (c-optimal design, Elfving 1952). A setting may occur twice.
func (s *Search) arms(c *found, n int) []cell.GC {
	f := *s.fitOf(c.Model)
	best := c.Best.Prediction
	for _, cand := range c.Candidates {
		if cand.Out != tooLarge && cand.Out != tooNear && dot(f.mean, cand.x) < dot(f.mean, best.x) {
			best = cand.Prediction
		}
	}
	if s.Objective == RSS {
		best = c.Model.Predict(cell.DefaultGC)
	}
	share := dot(f.mean, c.Best.x) / dot(f.mean, best.x)
	var contrast vector
	for i := range contrast {
		contrast[i] = c.Best.x[i] - share*best.x[i]
	}
	if dot(contrast, contrast) == 0 { // the choice is the best: what of the next smaller one?
		contrast = vector{1, 0, 0}
	}
	var open []Prediction
	for _, gc := range slices.Concat(s.Settings, s.Anchors) {
		p := c.Model.Predict(gc)
		if s.MaxPeakBytes > 0 && p.PeakBytes.Hi > s.MaxPeakBytes || len(p.Doubts) > len(c.Model.doubts) || gc.LimitBytes > 0 {
			continue
		}
		open = append(open, p)
	}
	var out []cell.GC
	for range n {
		var pick Prediction
		gain := -1.0
		for _, p := range open {
			v := f.variance(contrast, p.x)
			noise := f.noise * dot(f.mean, p.x)
			if g := v * v / (noise*noise + f.variance(p.x, p.x)); g > gain {
				gain, pick = g, p
			}
		}
		if gain < 0 {
			return append(out, cell.DefaultGC)
		}
		out = append(out, pick.GC)
		f.learn(pick.x)
	}
	return out
}

// learn reduces the covariance as a run at x will, whatever it shows.
func (f *fit) learn(x vector) {
	var cx vector
	for i := range terms {
		for j := range terms {
			cx[i] += f.cov[i][j] * x[j]
		}
	}
	noise := f.noise * dot(f.mean, x)
	d := noise*noise + dot(x, cx)
	for i := range terms {
		for j := range terms {
			f.cov[i][j] -= cx[i] * cx[j] / d
		}
	}
}
