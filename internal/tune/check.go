package tune

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Outcomes of a check, besides Inconclusive.
const (
	Holds = "holds"
	Lost  = "lost"
)

// A Checked is the result of measuring a recommendation again.
type Checked struct {
	Outcome  string  `json:"outcome"`
	Reason   string  `json:"reason"`
	Recorded float64 `json:"recorded_ratio"`
	Gate     float64 `json:"gate"`
	Gains    []Gain  `json:"gains"`
}

// Check compares recorded.Setting with the baseline, c.Base, in paired rounds. The
// recommendation is lost if the whole interval of the ratio lies above the recorded
// ratio by more than the gate (a share), and holds if none of it does.
func Check(c Config, recorded *Answer, gate float64, run Runner) (*Checked, error) {
	c.Fill()
	metric := recorded.Objective.costName(isServed(c.Base))
	was := gainIn(recorded.Gains, metric).Ratio.Mid
	if was <= 0 {
		return nil, errors.New("tune: check: the recorded result has no measured gain: tune again")
	}
	c.Objective = recorded.Objective
	t := newTuning(c, run)
	pairs := cmp.Or(c.Pairs, 6)
	t.planned = 2 * pairs
	arms := []cell.Config{c.Base, recorded.Setting}
	records, err := t.rounds(arms, pairs)
	if err != nil {
		return nil, err
	}
	compared, err := t.compare(arms, records)
	if err != nil {
		return nil, err
	}
	cost, bound := compared[1].by[costMetric], was*(1+gate)
	ratio := RatioOf(cost)
	out := &Checked{Outcome: Inconclusive, Recorded: was, Gate: gate, Gains: compared[1].gains}
	switch {
	case cost.Pairs < leastRounds && len(t.answer.Doubts) > 0: // why the setting does not run
		out.Reason = t.answer.Doubts[0]
		return out, nil
	case cost.Pairs < leastRounds:
		out.Reason = fmt.Sprintf("only %d of %d rounds fitted into the budget: give a larger --budget", cost.Pairs, pairs)
		return out, nil
	case ratio.Lo > bound:
		out.Outcome = Lost
	case ratio.Hi <= bound:
		out.Outcome = Holds
	}
	out.Reason = fmt.Sprintf("%s of %s is %s of the baseline's in %d pairs; it was %.3fx, and %.3fx is allowed",
		nameOf(metric), settingText(recorded.Setting), ratioText(ratio, bound), cost.Pairs, was, bound)
	return out, nil
}
