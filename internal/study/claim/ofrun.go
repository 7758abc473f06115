package claim

import (
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// OfRun judges the claims whose experiments are studies of a run: those of the
// same workload and the same case of it. What the run does not hold of one
// leaves it out.
func OfRun(a *stat.Analysis) (outcomes []Outcome) {
	for _, d := range documents {
		for i := range d.Claims {
			c := &d.Claims[i]
			if !c.Testable() {
				continue
			}
			part := c.Experiment.part(a)
			if len(part.Groups) == 0 {
				continue
			}
			o := Outcome{Claim: c}
			o.Result, o.Samples = c.Judge(part)
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// part returns what a run with several studies of the experiment's workload has
// of the one that the experiment is of, which its first flag chooses.
func (e Experiment) part(a *stat.Analysis) *stat.Analysis {
	part := &stat.Analysis{}
	words := strings.Fields(e.Run)
	if len(words) < 3 {
		return part
	}
	var keys []string
	for _, g := range a.Groups {
		value, ok := g.Config.Factor(strings.TrimPrefix(words[1], "--"))
		if ok && g.Config.Study != "" && g.Config.Workload == words[0] && value == words[2] {
			part.Groups, keys = append(part.Groups, g), append(keys, g.Key)
		}
	}
	for _, f := range a.Floors {
		if slices.Contains(keys, f.A) {
			part.Floors = append(part.Floors, f)
		}
	}
	return part
}
