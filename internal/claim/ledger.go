package claim

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/isobar-go/isobar/internal/stat"
	"github.com/isobar-go/isobar/internal/store"
)

// An Outcome is a claim with what the store knows about it.
type Outcome struct {
	*Claim
	Result
	// Run is the run that decided, nil without. Failed cells and other doubts
	// are in its analysis.
	Run     *store.Run
	Samples []Sample
	// Doubtful: the verdict is open, or would be another one if the intervals
	// were wider by doubt. A longer run decides; see [Experiment.Longer].
	Doubtful bool
}

// doubt is by how much an interval may be wider without a change of the verdict,
// for a verdict that is not doubtful.
const doubt = 1.3

// A Sample is every value of one figure that the test looked at, by block.
type Sample struct {
	Side   Side
	Blocks []int
	Values []float64
}

// Read returns the outcome of each claim: that of the latest complete run of its
// experiment, of any size. A nil store has no runs.
func Read(s *store.Store, claims []*Claim) ([]Outcome, error) {
	var runs []store.Run
	var err error
	if s != nil {
		if runs, err = s.Runs(); err != nil {
			return nil, err
		}
	}
	latest := make(map[string]*store.Run)
	for i := range runs {
		if r := &runs[i]; r.Finished+r.Failed == r.Total && !r.Imported {
			latest[r.Name] = r
		}
	}
	analyses := make(map[int64]*stat.Analysis)
	out := make([]Outcome, 0, len(claims))
	for _, c := range claims {
		o := Outcome{Claim: c}
		var run *store.Run
		for _, name := range c.Experiment.Names() {
			if r := latest[name]; r != nil && (run == nil || r.ID > run.ID) {
				run = r
			}
		}
		reason := c.untestable()
		switch {
		case reason != "":
			o.Result = Result{Verdict: Untestable, Text: reason}
		case run == nil:
			o.Result = Result{Verdict: NotRun, Text: "measure it with: isobar claims run --only " + c.ID}
		default:
			if analyses[run.ID] == nil {
				if analyses[run.ID], err = analyze(s, run.ID); err != nil {
					return nil, err
				}
			}
			o.Run = run
			o.Result, o.Samples = c.Judge(analyses[run.ID])
			o.Doubtful = c.doubtful(analyses[run.ID])
		}
		out = append(out, o)
	}
	return out, nil
}

// untestable says why the claim cannot be tested on this machine, "" if it can.
func (c *Claim) untestable() string {
	if c.Untestable != "" {
		return c.Untestable
	}
	if n := runtime.NumCPU(); c.CPUs > n {
		return fmt.Sprintf("it takes %d CPUs or more, this machine has %d", c.CPUs, n)
	}
	return ""
}

// Testable reports whether this machine can test the claim.
func (c *Claim) Testable() bool { return c.untestable() == "" }

func analyze(s *store.Store, run int64) (*stat.Analysis, error) {
	cells, err := s.Cells(run)
	if err != nil {
		return nil, err
	}
	records, err := s.Records(run)
	if err != nil {
		return nil, err
	}
	return stat.Analyze(cells, records)
}

// Judge decides the claim by an analyzed run of its experiment. Samples that
// lack a figure leave it open.
func (c *Claim) Judge(a *stat.Analysis) (Result, []Sample) {
	e := evidence{a, 1}
	r, err := c.Test.decide(e)
	if err != nil {
		r = Result{Verdict: Open, Text: err.Error()}
	}
	var samples []Sample
	for _, side := range c.Test.sides() {
		if g, err := e.group(side); err == nil {
			s := g.Series[side.Metric]
			samples = append(samples, Sample{side, s.Blocks, s.Values})
		}
	}
	return r, samples
}

func (c *Claim) doubtful(a *stat.Analysis) bool {
	sharp, err := c.Test.decide(evidence{a, 1})
	if err != nil || sharp.Verdict == Open {
		return true
	}
	wide, err := c.Test.decide(evidence{a, doubt})
	return err != nil || wide.Verdict != sharp.Verdict
}

// InDoubt returns the experiments of doubtful outcomes, each once, without those
// whose longer form has been measured.
func InDoubt(outcomes []Outcome) []Experiment {
	var out []Experiment
	for _, o := range outcomes {
		e := o.Experiment
		if o.Doubtful && o.Run.Name != e.Longer().Name(Quick) && o.Run.Name != e.Longer().Name(Full) && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
