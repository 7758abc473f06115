package tune

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestDecideWithoutRounds: if no fresh round fitted into the budget, none of them shows that
// the collector has nothing to do.
func TestDecideWithoutRounds(t *testing.T) {
	idle := &cell.Record{}
	for name, tc := range map[string]struct {
		base []*cell.Record
		want string
	}{
		"no rounds":             {nil, Inconclusive},
		"rounds without cycles": {[]*cell.Record{idle, idle, idle, idle}, DefaultGood},
	} {
		u := &tuning{Config: Config{Objective: CPU}, answer: &Answer{Choices: []Choice{
			{Name: Fastest, Setting: cell.Config{GC: setting(800, 0)}, Outcome: Inconclusive, Reason: "of the choice"}}}}
		if err := u.decide([][]*cell.Record{tc.base, nil}); err != nil {
			t.Fatal(err)
		}
		if u.answer.Outcome != tc.want {
			t.Errorf("%s: %s: %s", name, u.answer.Outcome, u.answer.Reason)
		}
	}
}
