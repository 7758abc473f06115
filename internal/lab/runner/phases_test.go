package runner

import (
	"os"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// TestPhases: the slowest operations of open and closed loops are attributed, each
// once, and the trace is not kept.
func TestPhases(t *testing.T) {
	for workload, params := range map[string]map[string]string{
		"hybrid":        {"live": "4MB", "duration": "300ms", "controller": "none"},
		"test-reporter": nil,
	} {
		dir := t.TempDir()
		c := cell.Cell{Config: cell.Config{Workload: workload, Params: params}, Seed: 7, Timeout: time.Minute,
			Profiles: []string{"phases"}}
		rec := runCell(c, newProfileSet(dir, c.Profiles), nil)
		if rec.Err != nil {
			t.Fatal(rec.Err)
		}
		p := rec.Phases
		if p == nil {
			t.Fatalf("%s: no phases; warnings %v", workload, rec.Warnings)
		}
		var ops, ns int64
		chance := 0.0
		for _, row := range p.Rows {
			ops, ns, chance = ops+row.Ops, ns+row.TimeNs, chance+row.Chance
		}
		if p.Ops == 0 || ops != p.Ops || ns != p.WindowNs || chance < float64(p.Ops)*0.999 || chance > float64(p.Ops)*1.001 {
			t.Errorf("%s: %d operations, rows of %d; %d ns, rows of %d; %v by chance", workload, p.Ops, ops, p.WindowNs, ns,
				chance)
		}
		if share := rec.Metrics[cell.SlowestStopped]; p.SlowestNs <= p.ThresholdNs || p.SlowestStoppedNs > p.SlowestNs ||
			share != float64(p.SlowestStoppedNs)/float64(p.SlowestNs) {
			t.Errorf("%s: the slowest operation took %d ns, stopped for %d: %v", workload, p.SlowestNs, p.SlowestStoppedNs,
				share)
		}
		if p.ThresholdNs <= 0 {
			t.Errorf("%s: operations above %d ns", workload, p.ThresholdNs)
		}
		if (p.Latency == "") != (workload != "hybrid") { // it reports something other than its operations
			t.Errorf("%s: the operations are said to be those of histogram %q", workload, p.Latency)
		}
		if workload == "hybrid" {
			checkAbove(t, rec, p.Latency)
		} else {
			checkAbove(t, rec, replaced)
		}
		// The collection before the phase does not count, nor does what follows.
		if wall := rec.Metrics[cell.WallTime]; float64(p.WindowNs)/1e9 > wall {
			t.Errorf("%s: %d ns looked at, of a phase of %v s", workload, p.WindowNs, wall)
		}
		if len(rec.Profiles) != 0 {
			t.Errorf("%s: profiles %v kept", workload, rec.Profiles)
		}
	}
}

// checkAbove checks that the attributed operations are those above the percentile in
// the cell's own histogram, give or take those in the percentile's bucket, as a stall
// may put more than a thousandth of all there.
func checkAbove(t *testing.T, rec cell.Record, name string) {
	t.Helper()
	p := rec.Phases
	var h latency.Histogram
	if err := h.UnmarshalBinary(rec.Latency[name]); err != nil {
		t.Fatal(err)
	}
	var least, most int64
	for b := range h.Buckets() {
		if int64(b.Lower) > p.ThresholdNs {
			least += int64(b.Count)
		}
		if int64(b.Upper) >= p.ThresholdNs {
			most += int64(b.Count)
		}
	}
	if p.Ops < least || p.Ops > most || p.Total != int64(h.Count()) {
		t.Errorf("%s: %d of %d operations above %d ns, want %d to %d of %d", name, p.Ops, p.Total, p.ThresholdNs, least,
			most, h.Count())
	}
}

func TestTraceAndPhasesAreOne(t *testing.T) {
	p := newProfileSet(t.TempDir(), []string{"phases", "cpu", "trace"})
	if len(p.kinds) != 2 || p.slow == nil {
		t.Errorf("kinds %v", p.kinds)
	}
	if p := newProfileSet("", []string{"cpu"}); p.slow != nil {
		t.Error("slow operations are kept for a CPU profile")
	}
}

func TestCapped(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := capped{f, 10}
	for _, s := range []string{"hello", "world!", "x"} {
		if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if b, _ := os.ReadFile(f.Name()); string(b) != "hello" {
		t.Errorf("kept %q, want what came before the cap", b)
	}
}

// TestSlowerThan: some operations lie above the threshold even if a stall put more into the last
// bucket than the percentile leaves.
func TestSlowerThan(t *testing.T) {
	for stalled := range 8 {
		var h latency.Histogram
		for i := range 2400 - stalled {
			h.Record(time.Duration(1000 + i))
		}
		for i := range stalled {
			h.Record(30*time.Millisecond + time.Duration(i))
		}
		threshold, above := slowerThan(&h), uint64(0)
		for b := range h.Buckets() {
			if int64(b.Lower) > threshold {
				above += b.Count
			}
		}
		if above == 0 || above > 32 {
			t.Errorf("%d stalled: %d of %d above %d ns", stalled, above, h.Count(), threshold)
		}
	}
}
