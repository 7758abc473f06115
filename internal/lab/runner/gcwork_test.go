package runner

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestGCWork: a function counts once per sample that contains it, including its
// callees, under any version's name.
func TestGCWork(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu", Unit: "nanoseconds"}}}
	sample := func(ns int64, stack ...string) {
		s := &profile.Sample{Value: []int64{1, ns}}
		for _, name := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
			p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	sample(30, "runtime.scanobject", "runtime.gcDrain", "runtime.gcDrain", "runtime.gcBgMarkWorker")
	sample(20, "runtime.procyieldAsm", "runtime.lock2", "runtime.sweepone")
	sample(40, "main.gcDrain")
	sample(10, "main.work")
	name := filepath.Join(t.TempDir(), "cpu")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var rec cell.Record
	if err := countGCWork(&rec, name); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"gcDrain": 0.3, "scanObject": 0.3, "sweepone": 0.2, "lock2": 0.2, "procyield": 0.2}
	for _, w := range gcWork {
		if got, ok := rec.Metrics[cell.GCWorkPrefix+w+":ratio"]; !ok || math.Abs(got-want[w]) > 1e-9 {
			t.Errorf("%s: %v, want %v", w, got, want[w])
		}
	}
}
