package tune

import (
	"errors"
	"strings"
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

// TestOnlyCandidateIsToday: more memory would not help where no other setting may be tried.
func TestOnlyCandidateIsToday(t *testing.T) {
	r, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) { c.Settings = []cell.GC{cell.DefaultGC} })
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Inconclusive || !strings.Contains(r.Headline, "the only candidate is today's") {
		t.Errorf("%s: %s", r.Outcome, r.Headline)
	}
}

// TestSleepIsNotShort: what hardly uses a CPU and is no Go program is not refused for taking too little time.
func TestSleepIsNotShort(t *testing.T) {
	tuned := newTuning(Config{Objective: CPU}, func(c cell.Config, _ int) (*cell.Record, error) {
		rec := &cell.Record{Cell: cell.Cell{Config: c}}
		rec.Set(cell.WallTime, 1)
		rec.Warn("not-go", "no collection was seen")
		return rec, nil
	})
	if err := tuned.tune(); !errors.Is(err, errNoCycles) {
		t.Error(err)
	}
}
