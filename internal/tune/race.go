package tune

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A racer is a setting whose cost is measured instead of predicted.
type racer struct {
	config    cell.Config
	predicted Prediction
	costs     map[int]float64 // logarithms, by block
	peaks     []float64       // resident bytes
	p99s      []float64       // seconds
	out       string          // why it left the race; "" while it is in
}

const (
	raceArms   = 5 // at most
	raceRounds = 4 // before one may leave
	raceRuns   = raceArms * raceRounds
)

// race measures an objective that no model predicts. Settings spread over the candidates run in
// interleaved rounds; those certainly slower than the best leave (a one-sided t-interval of log
// ratios paired by round, at 0.05 over the number of settings). It chooses the setting of least
// memory among those within the tolerance of the best. Steps say why it runs.
func (t *tuning) race(e explored, runs int, why string) (cell.Config, Prediction, error) {
	racers := t.racers(e, runs)
	rng := rand.New(rand.NewPCG(t.Seed, 3))
	t.block = max(t.block, 1)
	for n := 0; n < raceRounds || t.undecided(racers); n++ {
		in := slices.DeleteFunc(slices.Clone(racers), func(r *racer) bool { return r.out != "" })
		if n >= raceRounds && len(in) > runs {
			break
		}
		rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		for _, r := range in {
			runs--
			if err := t.run1(r, why); err != nil {
				return t.Base, Prediction{}, err
			}
		}
		t.block++
		if n+1 >= raceRounds {
			t.eliminate(racers)
		}
	}
	c, p := t.choose(racers)
	return c, p, nil
}

// racers returns the settings that race: the baseline, and as many of the candidates within the
// allowed memory as there are runs for.
func (t *tuning) racers(e explored, runs int) []*racer {
	cliff := e.model.Cliff()
	var feasible []Prediction
	for _, p := range e.all {
		// A limit helps only if memory is bounded; otherwise GOGC does the same.
		limited := p.GC.LimitBytes > 0 && len(t.Settings) == 0 && t.MaxPeakBytes == 0
		if p.GC != t.Base.GC && !limited && t.usable(&p, cliff) && t.allowed(&p, 0.5) {
			feasible = append(feasible, p)
		}
	}
	slices.SortStableFunc(feasible, func(a, b Prediction) int { return cmp.Compare(a.PeakBytes.Mid, b.PeakBytes.Mid) })
	racers := []*racer{t.newRacer(e.model.Expect(t.Base.GC))}
	n := min(len(feasible), raceArms-1, max(runs/raceRounds-1, 1))
	for i := range n {
		at := len(feasible) - 1
		if n > 1 {
			at = int(math.Round(float64(i) * float64(len(feasible)-1) / float64(n-1)))
		}
		racers = append(racers, t.newRacer(feasible[at]))
	}
	return racers
}

func (t *tuning) newRacer(p Prediction) *racer {
	return &racer{config: t.with(p.GC), predicted: p, costs: map[int]float64{}}
}

func (t *tuning) run1(r *racer, why string) error {
	rec, err := t.measure(r.config, t.block, "racing "+settingText(r.config)+", as "+why)
	if t.infeasible(rec) && r.config.GC != t.Base.GC {
		r.out = "does not run: " + rec.Err.Message
		t.answer.Doubts = append(t.answer.Doubts, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	cost, err := t.Objective.cost(rec)
	if err != nil {
		return err
	}
	r.costs[t.block] = math.Log(cost)
	r.peaks = append(r.peaks, rec.Metrics[cell.RSSPeak])
	if t.MaxP99 > 0 {
		p99, err := p99Of(rec)
		if err != nil {
			return err
		}
		r.p99s = append(r.p99s, p99.Seconds())
	}
	return nil
}

// p99 is the median of the 99th percentiles; infinite without a run.
func (r *racer) p99() float64 {
	if len(r.p99s) == 0 {
		return math.Inf(1)
	}
	return stat.Median(r.p99s)
}

// beyond returns the mean of the log ratios of r to o, paired by round, and the
// half-width of its one-sided interval at the given level.
func (r *racer) beyond(o *racer, level float64) (mean, half float64) {
	var d moments
	// In the order of the rounds, as the last digit of a sum depends on it.
	for _, block := range slices.Sorted(maps.Keys(r.costs)) {
		if other, ok := o.costs[block]; ok {
			d.add(r.costs[block] - other)
		}
	}
	if d.n < 2 {
		return 0, math.Inf(1)
	}
	return d.mean(), studentQuantile(1-level, d.n-1) * d.deviation() / math.Sqrt(d.n-1)
}

// studentQuantile is the quantile of Student's distribution for three degrees
// of freedom or more (Abramowitz and Stegun, 26.7.5).
func studentQuantile(p, degrees float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	z3, z5 := z*z*z, z*z*z*z*z
	return z + (z3+z)/(4*degrees) + (5*z5+16*z3+3*z)/(96*degrees*degrees) +
		(3*math.Pow(z, 7)+19*z5+17*z3-15*z)/(384*math.Pow(degrees, 3))
}

// best returns the racer of least mean cost among those still in.
func best(racers []*racer) *racer {
	var least *racer
	for _, r := range racers {
		if r.out != "" || len(r.costs) == 0 {
			continue
		}
		if least == nil {
			least = r
		} else if mean, _ := r.beyond(least, 0.05); mean < 0 {
			least = r
		}
	}
	return least
}

func (t *tuning) eliminate(racers []*racer) {
	for _, r := range racers {
		if t.MaxP99 > 0 && r.out == "" && stat.Median(r.p99s) > t.MaxP99.Seconds() {
			r.out = fmt.Sprintf("its p99 of %v is above the %v allowed", seconds(stat.Median(r.p99s)), t.MaxP99)
		}
	}
	for _, r := range racers {
		if r.out == "" {
			r.out = t.overMemory(stat.Median(r.peaks), stat.Median(racers[0].peaks))
		}
	}
	top := best(racers)
	for _, r := range racers {
		if r.out != "" || r == top {
			continue
		}
		if mean, half := r.beyond(top, 0.05/float64(len(racers))); mean-half > math.Log(1+t.Tolerance) {
			r.out = fmt.Sprintf("costs %.2f times as much as %s", math.Exp(mean), top.config.GC)
		}
	}
}

// undecided reports whether more rounds could change the choice.
func (t *tuning) undecided(racers []*racer) bool {
	in := 0
	top := best(racers)
	if top == nil {
		return false
	}
	certain := true
	for _, r := range racers {
		if r.out != "" {
			continue
		}
		in++
		mean, half := r.beyond(top, 0.05/float64(len(racers)))
		certain = certain && (r == top || mean+half < math.Log(1+t.Tolerance))
	}
	return in > 1 && !certain
}

// choose returns the racer of least memory within the tolerance, and records the result of each.
func (t *tuning) choose(racers []*racer) (cell.Config, Prediction) {
	top := best(racers)
	var chosen *racer
	for _, r := range racers {
		c := Candidate{Prediction: r.predicted, Out: r.out}
		if len(r.costs) > 1 {
			mean, half := r.beyond(racers[0], 0.05)
			c.Cost = &Interval{math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)}
		}
		t.answer.Candidates = append(t.answer.Candidates, c)
		if top == nil || r.out != "" {
			continue
		}
		if mean, _ := r.beyond(top, 0.05); mean <= math.Log(1+t.Tolerance) &&
			(chosen == nil || stat.Median(r.peaks) < stat.Median(chosen.peaks)) {
			chosen = r
		}
	}
	if chosen == nil {
		t.answer.Outcome = Inconclusive
		t.answer.Reason = "no setting keeps within the memory allowed; today's: " + racers[0].out
		if t.MaxP99 > 0 {
			r := slices.MinFunc(racers, func(a, b *racer) int { return cmp.Compare(a.p99(), b.p99()) })
			t.answer.Reason = fmt.Sprintf("no setting keeps the 99th percentile within %v: today's is %v, the least %v, with %s",
				t.MaxP99, seconds(racers[0].p99()), seconds(r.p99()), settingText(r.config))
		}
		return t.Base, Prediction{}
	}
	t.answer.Reason = fmt.Sprintf("of %d settings in interleaved rounds none that keeps within the memory allowed costs "+
		"less than the baseline by more than %.0f %%", len(racers), 100*t.Tolerance)
	return chosen.config, chosen.predicted
}

// overMemory says why a setting takes more memory than allowed; "" if it does not.
func (t *tuning) overMemory(peak, today float64) string {
	switch {
	case t.MaxPeakBytes > 0 && peak > t.MaxPeakBytes:
		return fmt.Sprintf("it took %s, and %s is allowed", bytesText(peak), bytesText(t.MaxPeakBytes))
	case t.MaxPeakBytes == 0 && peak > twice*sameMemory*today:
		return fmt.Sprintf("it took %.2f times today's memory, and twice is allowed: --max-rss", peak/today)
	}
	return ""
}

func seconds(v float64) time.Duration {
	return time.Duration(v * float64(time.Second)).Round(time.Microsecond)
}
