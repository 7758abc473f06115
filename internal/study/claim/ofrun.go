package claim

import (
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// OfRun judges the claims whose experiments are studies of the run: same
// workload, same case. It leaves out claims for which the run lacks data.
func OfRun(a *stat.Analysis) (outcomes []Outcome) {
	all, _ := Select(nil, nil) // fails only for a name that does not exist
	for _, c := range all {
		if !c.Testable() {
			continue
		}
		if part := c.Experiment.part(a); len(part.Groups) > 0 {
			o := Outcome{Claim: c}
			o.Result, o.Samples = c.Judge(part)
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// part returns the experiment's share of a run with several studies of its
// workload. The experiment's first flag selects it.
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
