package claim

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// A claim is in doubt while its interval nearly reaches a bound. Passes add to
// the run, which counts once its first pass is complete.
func TestPassesAndDoubt(t *testing.T) {
	of, over := Side{cell.OpCPU, "gc=off"}, Side{cell.OpCPU, "gc=default"}
	e := Experiment{Run: "alloc --gc default,off", Quick: "--iterations 100 --reps 8", Full: "--reps 9"}
	claims := []*Claim{{ID: "x/ratio", Experiment: e, Test: Effect{Of: of, Over: over, Says: 2}}}
	type pass []float64 // the ratios of its blocks, repeated
	clear := pass{1.9, 2, 2.1}
	for _, test := range []struct {
		name     string
		passes   []pass
		missing  int // cells of the last pass
		verdict  Verdict
		reps     int
		doubtful bool
	}{
		{"clear", []pass{clear}, 0, Holds, 8, false},
		{"open", []pass{{1.1, 2.4}}, 0, Open, 8, true},
		{"near half of the figure", []pass{{1.43, 1.5, 1.6, 1.7}}, 0, Holds, 8, true},
		{"refuted or reversed", []pass{{0.6, 0.98}}, 0, Reversed, 8, true},
		{"passes add up", []pass{{1.1, 2.4}, clear, clear, clear}, 0, Holds, 32, false},
		{"an incomplete first pass", []pass{clear}, 1, NotRun, 0, false},
		{"an incomplete second pass", []pass{clear, clear}, 5, Holds, 16, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := store.Open(filepath.Join(t.TempDir(), "claims.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var cells []cell.Cell
			for i := range test.passes {
				pass, err := e.Pass(Quick, 1, i)
				if err != nil {
					t.Fatal(err)
				}
				cells = append(cells, pass...)
			}
			each := len(cells) / len(test.passes)
			id, err := s.CreateRun(store.Run{Name: e.Name(Quick), Created: time.Now(), Seed: 1}, cells[:each])
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Extend(id, cells[each:]...); err != nil {
				t.Fatal(err)
			}
			for _, c := range cells[:len(cells)-test.missing] {
				rec := &cell.Record{Cell: c, Started: time.Now()}
				rec.Set(over.Metric, 1000)
				if of.fits(c.Config) {
					ratios := test.passes[c.Index/each]
					rec.Set(of.Metric, 1000*ratios[c.Block%len(ratios)])
				}
				if err := s.Append(id, rec, nil); err != nil {
					t.Fatal(err)
				}
			}
			out, err := Read(s, claims)
			if err != nil {
				t.Fatal(err)
			}
			o := out[0]
			if o.Verdict != test.verdict || o.Doubtful != test.doubtful || o.Repetitions != test.reps ||
				(len(InDoubt(out)) == 1) != test.doubtful {
				t.Errorf("%s %+v of %d repetitions, doubtful %v, %d in doubt", o.Verdict, o.Estimate, o.Repetitions, o.Doubtful,
					len(InDoubt(out)))
			}
		})
	}
}

// A repeated experiment measures what its doubtful claims use, and the baseline
// with its twin.
func TestDoubtNeeds(t *testing.T) {
	e := Experiment{Run: "alloc --gc default,tuned,off,400", Quick: "--reps 5", Full: "--reps 5"}
	effect := func(gc string) *Claim {
		return &Claim{ID: "x/" + gc, Experiment: e,
			Test: Effect{Of: Side{cell.OpCPU, "gc=" + gc}, Over: Side{cell.OpCPU, "gc=default"}, Says: 2}}
	}
	doubts := InDoubt([]Outcome{{Claim: effect("off"), Doubtful: true}, {Claim: effect("tuned")},
		{Claim: effect("400"), Doubtful: true}})
	if len(doubts) != 1 || len(doubts[0].Claims) != 2 {
		t.Fatalf("%+v, want one experiment with two claims", doubts)
	}
	cells, err := e.Pass(Quick, 1, 2)
	if err != nil || len(cells) != 25 || cells[0].Block != 10 || cells[24].Block != 14 {
		t.Fatalf("third pass: %d cells, blocks %d to %d, %v", len(cells), cells[0].Block, cells[len(cells)-1].Block, err)
	}
	needed := map[string]int{}
	for _, c := range cells {
		if doubts[0].Needs(c) {
			needed[c.GC.String()]++
		}
	}
	if want := (map[string]int{"default": 10, "disabled": 5, "400": 5}); !maps.Equal(needed, want) {
		t.Errorf("needed: %v, want %v", needed, want)
	}
}

func TestRepeatExperiment(t *testing.T) {
	run := &store.Run{Args: []string{"lab", "run", "exec", "--reps", "5", "--", "prog", "--reps", "1"}, Seed: 7}
	want := "isobar lab run exec --reps 10 --seed 7 -- prog --reps 1"
	if got := repeatExperiment(run, 10); got != want || run.Args[4] != "5" {
		t.Errorf("%s, want %s; the run's own arguments are %q", got, want, run.Args)
	}
}
