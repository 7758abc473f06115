package claim

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/store"
)

// A claim whose interval nearly reaches a bound is in doubt, and its longer run
// decides from then on.
func TestInDoubt(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "claims.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	of, over := Side{cell.OpCPU, "gc=off"}, Side{cell.OpCPU, "gc=default"}
	e := Experiment{Run: "alloc --gc default,off", Quick: "--iterations 100 --reps 8", Full: "--reps 9"}
	claims := []*Claim{{ID: "x/ratio", Experiment: e, Test: Effect{Of: of, Over: over, Says: 2}}}
	measure := func(e Experiment, ratios ...float64) Outcome {
		t.Helper()
		spec, err := e.Spec(Quick, 1)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := spec.Cells()
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.CreateRun(store.Run{Name: e.Name(Quick), Created: time.Now(), Seed: 1}, cells)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			rec := &cell.Record{Cell: c, Started: time.Now()}
			rec.Set(over.Metric, 1000)
			if of.fits(c.Config) {
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
		return out[0]
	}
	for _, test := range []struct {
		name     string
		run      Experiment
		ratios   []float64
		verdict  Verdict
		doubtful bool
		inDoubt  int
	}{
		{"clear", e, []float64{1.9, 2, 2.1}, Holds, false, 0},
		{"open", e, []float64{1.1, 2.4}, Open, true, 1},
		{"near half of the figure", e, []float64{1.43, 1.5, 1.6, 1.7}, Holds, true, 1},
		{"the longer run decides", e.Longer(), []float64{1.9, 2, 2.1}, Holds, false, 0},
		{"there is none longer", e.Longer(), []float64{1.1, 2.4}, Open, true, 0},
	} {
		o := measure(test.run, test.ratios...)
		if o.Verdict != test.verdict || o.Doubtful != test.doubtful || len(InDoubt([]Outcome{o})) != test.inDoubt {
			t.Errorf("%s: %s %+v, doubtful %v, %d in doubt", test.name, o.Verdict, o.Estimate, o.Doubtful, len(InDoubt([]Outcome{o})))
		}
	}
	if n := len(InDoubt([]Outcome{{Claim: claims[0]}})); n != 0 {
		t.Errorf("a claim without a run is in doubt")
	}
}
