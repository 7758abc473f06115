package claim

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// An Outcome is a claim and what the store says about it.
type Outcome struct {
	*Claim
	Result
	// Run is the run that decided, nil if there is none. Its analysis lists failed cells and other doubts.
	Run         *store.Run
	Repetitions int // of the run, over all passes
	Samples     []text.LedgerSample
	// Doubtful: more repetitions may change the verdict; see [Claim.doubtful].
	Doubtful bool
}

// doubt is the factor by which an interval may widen without reaching another verdict, if the verdict is not
// doubtful. A claim is measured until it is beyond doubt, and each look is another chance to stop at a wrong verdict.
// With intervals 1.37 times as wide, twenty looks err no more often than one look with plain ones (Pocock, Biometrika
// 64, 1977: 2.672 standard errors for 1.960).
const doubt = 1.37

// MaxPasses is how many times an experiment is measured while one of its claims is in doubt.
const MaxPasses = 20

// Read returns the outcome of each claim from the latest run of its experiment, of either size, whose first pass is
// complete. A nil store has no runs.
func Read(s *store.Store, claims []*Claim) ([]Outcome, error) {
	var runs []store.Run
	var err error
	if s != nil {
		if runs, err = s.Runs(); err != nil {
			return nil, err
		}
	}
	latest := make(map[string][]*store.Run) // by name
	for i := range runs {
		if r := &runs[i]; !r.Imported {
			latest[r.Name] = append(latest[r.Name], r)
		}
	}
	analyses, repetitions := make(map[int64]*stat.Analysis), make(map[int64]int)
	out := make([]Outcome, 0, len(claims))
	for _, c := range claims {
		o := Outcome{Claim: c}
		run := c.latest(latest)
		reason := c.untestable()
		switch {
		case reason != "":
			o.Result = Result{Verdict: Untestable, Text: reason}
		case run == nil:
			o.Result = Result{Verdict: NotRun, Text: "measure it with: isobar claims run --only " + c.ID}
		default:
			if analyses[run.ID] == nil {
				if analyses[run.ID], repetitions[run.ID], err = analyze(s, run.ID); err != nil {
					return nil, err
				}
			}
			o.Run, o.Repetitions = run, repetitions[run.ID]
			o.Result, o.Samples = c.Judge(analyses[run.ID])
			o.Doubtful = c.doubtful(analyses[run.ID])
		}
		out = append(out, o)
	}
	return out, nil
}

// latest returns the latest run of the claim's experiment whose first pass is complete, nil if there is none.
func (c *Claim) latest(runs map[string][]*store.Run) (latest *store.Run) {
	if c.Untestable != "" {
		return nil
	}
	for _, size := range []Size{Quick, Full} {
		for _, r := range runs[c.Experiment.Name(size)] {
			pass, err := c.Experiment.Pass(size, r.Seed, 0)
			if err == nil && r.Finished+r.Failed >= len(pass) && (latest == nil || r.ID > latest.ID) {
				latest = r
			}
		}
	}
	return latest
}

// untestable says why this machine cannot test the claim, "" if it can.
func (c *Claim) untestable() string {
	if c.Untestable != "" {
		return c.Untestable
	}
	if n := runtime.NumCPU(); c.CPUs > n {
		return fmt.Sprintf("it needs %d CPUs or more, this machine has %d", c.CPUs, n)
	}
	return ""
}

// Testable reports whether this machine can test the claim.
func (c *Claim) Testable() bool { return c.untestable() == "" }

// analyze analyzes a run and counts its repetitions.
func analyze(s *store.Store, run int64) (*stat.Analysis, int, error) {
	_, cells, records, err := s.Whole(run)
	if err != nil {
		return nil, 0, err
	}
	a, err := stat.Analyze(cells, records)
	return a, cells[len(cells)-1].Block + 1, err
}

// Judge decides the claim from an analyzed run of its experiment. If samples lack a figure, the claim stays open.
func (c *Claim) Judge(a *stat.Analysis) (Result, []text.LedgerSample) {
	e := evidence{a, 1}
	r, err := decide(c.Test, e)
	if err != nil {
		r = Result{Verdict: Open, Text: err.Error()}
	}
	var samples []text.LedgerSample
	for _, side := range c.Test.sides() {
		if g, err := e.group(side); err == nil {
			samples = append(samples, text.NewLedgerSample(side.Metric, side.Where, g.Series[side.Metric].Values))
		}
	}
	return r, samples
}

// doubtful reports whether the verdict is open or tentative, or would change if doubt widened the intervals and the
// noise floor.
func (c *Claim) doubtful(a *stat.Analysis) bool {
	sharp, err := decide(c.Test, evidence{a, 1})
	if err != nil {
		return true
	}
	wide, err := decide(c.Test, evidence{a, doubt})
	return err != nil || wide.Verdict == Open || wide.Tentative || wide.Verdict != sharp.Verdict
}

// A Doubt is an experiment with doubtful claims.
type Doubt struct {
	Experiment Experiment
	Claims     []*Claim
}

// Needs reports whether the claims use the cell. They also use the baseline and its twin, for the noise floor.
func (d Doubt) Needs(c cell.Cell) bool {
	if c.Order == 0 || c.Twin {
		return true
	}
	return slices.ContainsFunc(d.Claims, func(claim *Claim) bool {
		return slices.ContainsFunc(claim.Test.sides(), func(s Side) bool { return s.fits(c.Config) })
	})
}

// InDoubt returns the experiments of the doubtful outcomes, each once.
func InDoubt(outcomes []Outcome) []Doubt {
	var out []Doubt
	for _, o := range outcomes {
		if !o.Doubtful {
			continue
		}
		i := slices.IndexFunc(out, func(d Doubt) bool { return d.Experiment == o.Experiment })
		if i < 0 {
			i, out = len(out), append(out, Doubt{Experiment: o.Experiment})
		}
		out[i].Claims = append(out[i].Claims, o.Claim)
	}
	return out
}
