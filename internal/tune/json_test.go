package tune

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

var noFigure = regexp.MustCompile(`NaN|Inf|\b100 % less|\b0 MiB|\b0\.00x`)

// TestEveryAnswerIsJSON has a study end at each of its runs: the budget is over, or settings no
// longer run. The answer must be JSON, with the terminal's first sentence.
func TestEveryAnswerIsJSON(t *testing.T) {
	twists := map[string]func(*cell.Record){
		"budget": func(rec *cell.Record) { rec.Set(cell.RunTime, 1e6) },
		"memory": func(rec *cell.Record) {
			if rec.Cell.GC != cell.DefaultGC {
				rec.Err = &cell.Failure{Kind: cell.FailMemory, Message: "too much"}
			}
		},
	}
	for name, twist := range twists {
		for _, objective := range []Objective{CPU, RSS} {
			for _, after := range []int{1, 3, 5, 8, 12} {
				p, rng, n := program(0.3), rand.New(rand.NewPCG(1, uint64(after))), 0
				c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: objective,
					Seed: 1}
				a, err := Tune(c, func(c cell.Config, _ int) (*cell.Record, error) {
					rec := p.record(c, 0.02, rng)
					if n++; n > after {
						twist(rec)
					}
					return rec, nil
				})
				if err != nil {
					t.Errorf("%s, %s after %d runs: %v", name, objective, after, err)
					continue
				}
				data, err := json.Marshal(a)
				var read Answer
				if err != nil || json.Unmarshal(data, &read) != nil {
					t.Errorf("%s, %s after %d runs: %v", name, objective, after, err)
					continue
				}
				var b strings.Builder
				if err := a.Write(&b); err != nil {
					t.Fatal(err)
				}
				first, _, _ := strings.Cut(b.String(), "\n")
				if all := b.String() + strings.Join(a.Lines(), "\n"); first != read.Headline || noFigure.MatchString(all) {
					t.Errorf("%s, %s after %d runs: JSON has %q of\n%s", name, objective, after, read.Headline, all)
				}
			}
		}
	}
}

// TestCheckNeedsPairs: with fewer than four pairs, a check only says why there are no more.
func TestCheckNeedsPairs(t *testing.T) {
	p := program(0.3)
	recorded, err := tuneSimulated(t, p, 0.01, nil)
	if err != nil || recorded.Outcome != Recommended {
		t.Fatal(recorded.Outcome, err)
	}
	for want, twist := range map[string]func(*cell.Record){
		"rounds fitted into the budget": func(rec *cell.Record) { rec.Set(cell.RunTime, 40) },
		"too much": func(rec *cell.Record) {
			if rec.Cell.GC != cell.DefaultGC {
				rec.Err = &cell.Failure{Kind: cell.FailMemory, Message: "too much"}
			}
		},
	} {
		rng := rand.New(rand.NewPCG(6, 6))
		got, err := Check(Config{Base: recorded.Base, Objective: Wall, Seed: 2}, recorded, 0.05,
			func(c cell.Config, _ int) (*cell.Record, error) {
				rec := p.record(c, 0.005, rng)
				twist(rec)
				return rec, nil
			})
		if err != nil || got.Outcome != Inconclusive || !strings.Contains(got.Reason, want) {
			t.Errorf("%+v, %v; want %q", got, err, want)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
	}
}
