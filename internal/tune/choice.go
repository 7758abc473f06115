package tune

import (
	"fmt"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Names of choices.
const (
	Fastest     = "fastest"      // within the memory allowed, or twice the baseline's
	SameMemory  = "same memory"  // as the baseline, in less CPU time
	LeastMemory = "least memory" // at the baseline's CPU time
)

// A Choice is a setting measured against the baseline in fresh rounds. It never turns
// GOGC off without a GOMEMLIMIT.
type Choice struct {
	Name string `json:"name"` // Fastest, SameMemory or LeastMemory
	// Setting is the whole configuration. Setting.GC holds GOGC (Percent, -1 for off) and
	// GOMEMLIMIT (LimitBytes, 0 for none). Setting.GOMAXPROCS is 0 if the runtime chooses.
	Setting cell.Config `json:"setting"`
	// PeakBytes is the peak of resident memory in the fresh runs: median, least and greatest. A
	// container must allow more than Hi.
	PeakBytes Interval `json:"peak_bytes"`
	// CPU, Memory and Cost (of the objective) are ratios to the baseline; below 1 is less. Their
	// intervals are 95 %, unless Runs is set.
	CPU    Interval `json:"cpu_ratio"`
	Memory Interval `json:"memory_ratio"`
	Cost   Interval `json:"cost_ratio"`
	// Outcome is Recommended if the choice certainly keeps what its name promises, DefaultGood if
	// it certainly does not, else Inconclusive. Reason says why.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	// Runs is the number of runs behind the model that CPU and Cost come from; their intervals
	// are then 90 %. It is 0 if they come from the pairs alone.
	Runs int `json:"model_runs,omitempty"`
	// Warnings are doubts about this setting alone, such as a limit close to where
	// the program crawls.
	Warnings []string `json:"warnings,omitempty"`
	Gains    []Gain   `json:"gains"` // every metric that was compared

	over string // why it takes more memory than allowed; "" if it does not
}

// ran returns the choices that fresh rounds measured.
func (r *Answer) ran() (out []Choice) {
	for _, c := range r.Choices {
		if slices.ContainsFunc(c.Gains, func(g Gain) bool { return g.Pairs > 0 }) {
			out = append(out, c)
		}
	}
	return out
}

func (c *Choice) proven() string {
	if c.Outcome == Recommended {
		return "proven"
	}
	return "not proven"
}

// choices judges all arms but the first, the baseline, by the rounds so far.
func (t *tuning) choices(e explored, arms []cell.Config, records [][]*cell.Record) (out []Choice, err error) {
	results, err := t.compare(arms, records)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(arms); i++ {
		runs, err := t.believe(e.model, &e.picks[i-1], arms[i], &results[i])
		if err != nil {
			return nil, err
		}
		c := t.choice(e.picks[i-1].name, arms[i], results[i])
		c.Runs, c.over = runs, t.overMemory(results[i].peak.Mid, results[0].peak.Mid)
		out = append(out, c)
	}
	return out, nil
}

// believe replaces the ratios of CPU and wall time from the pairs by those from all runs, if the
// model fits. A gain that the model did not expect when it picked the setting must also show in
// the pairs alone. It returns the number of runs, or 0 if it replaced nothing.
func (t *tuning) believe(fitted *Model, p *pick, c cell.Config, r *compared) (runs int, err error) {
	if t.races() || fitted.misfit || c.Key() != t.with(c.GC).Key() {
		return 0, nil
	}
	m, err := NewModel(t.pilots)
	if err != nil {
		return 0, err
	}
	cpu, wall := m.ratios(c.GC, t.Base.GC)
	for metric, ratio := range map[string]Interval{cell.TotalCPU: cpu, cell.WallTime: wall} {
		by := r.by[metric]
		shown := by.Verdict == stat.Better || p.cost.Mid <= 1-t.Tolerance
		if by.Pairs >= leastRounds { // an interval without the pairs' own ratio is too narrow
			ratio.Lo, ratio.Hi = min(ratio.Lo, by.Ratio), max(ratio.Hi, by.Ratio)
		}
		by.Ratio, by.Lo, by.Hi, by.Verdict = ratio.Mid, ratio.Lo, ratio.Hi, stat.NoDifference
		by.Reason = fmt.Sprintf("%s by a model of %d runs", ratioText(ratio), len(t.pilots))
		switch {
		case by.Lo > 1:
			by.Verdict = stat.Worse
		case by.Hi >= 1:
		case by.Pairs < leastRounds:
			by.Reason += fmt.Sprintf(", but in %d pairs, and %d are needed", by.Pairs, leastRounds)
		case shown:
			by.Verdict = stat.Better
		default:
			by.Reason += fmt.Sprintf(", which did not expect it, and %d pairs alone do not show it", by.Pairs)
		}
		r.by[metric] = by
		if metric == t.Objective.metric(isServed(t.Base)) {
			r.by[costMetric] = by
		}
		for i, g := range r.gains {
			if g.Metric == metric {
				r.gains[i] = NewGain(metric, by)
			}
		}
	}
	return len(t.pilots), nil
}
