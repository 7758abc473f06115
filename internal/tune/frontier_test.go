package tune

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestLimits(t *testing.T) {
	const cliff, roof = 40 * mib, 1000 * mib
	got := limits(cliff, leastMargin, roof)
	for i, limit := range got {
		if float64(limit) < leastMargin*cliff || i > 0 && limit <= got[i-1] {
			t.Errorf("limit %d is %d MiB", i, limit/mib)
		}
	}
	if last := got[len(got)-1]; last < roof || last > 2*roof {
		t.Errorf("limits end at %d MiB, want the first beyond %d", last/mib, roof/mib)
	}
	if got := limits(0, leastMargin, roof); len(got) > 0 {
		t.Errorf("limits without a cliff: %v", got)
	}
	if got := limits(roof, leastMargin, cliff); len(got) > 0 {
		t.Errorf("limits above the roof: %v", got)
	}
	if got := limits(1, leastMargin, 1<<62); len(got) > 200 {
		t.Errorf("%d limits", len(got))
	}
}

// TestRoof: limits reach at least to what a run without a limit took, however little gctrace shows.
func TestRoof(t *testing.T) {
	rec := steady(6)
	rec.Set(cell.RSSPeak, 300*mib)
	m, err := NewModel([]Pilot{mustPilot(t, rec)})
	if err != nil {
		t.Fatal(err)
	}
	if roof := m.roof(); roof < 300*mib {
		t.Errorf("limits end at %d MiB, where a run took 300", roof/mib)
	}
}

// TestWholeFrontier: no prediction is off without a limit, the frontier is a subset of them, and
// settings that ran have their measurements.
func TestWholeFrontier(t *testing.T) {
	r, err := tuneSimulated(t, program(0.3), 0.01, nil)
	if err != nil {
		t.Fatal(err)
	}
	capped := 0
	for _, p := range r.Predicted {
		if p.GC.Percent < 0 && p.GC.LimitBytes == 0 {
			t.Errorf("%s is a candidate", p.GC)
		}
		if p.GC.LimitBytes > 0 {
			capped++
		}
		beaten := slices.ContainsFunc(r.Predicted, func(o Prediction) bool {
			return o.CPU.Mid > 0 && o.PeakBytes.Mid > 0 && o.PeakBytes.Mid <= p.PeakBytes.Mid && o.CPU.Mid <= p.CPU.Mid && (o.PeakBytes.Mid < p.PeakBytes.Mid || o.CPU.Mid < p.CPU.Mid)
		})
		if beaten && r.onFrontier(p.GC) {
			t.Errorf("%s is on the frontier, and beaten", p.GC)
		}
		if p.Measured == nil {
			continue
		}
		if len(p.Withheld) > 0 {
			t.Errorf("%s was run, and lacks %q", p.GC, p.Withheld)
		}
		for _, k := range kinds {
			if i, was := *k.of(&p.Figures), *k.of(&p.Measured.Figures); was.Mid > 0 && (was.Mid < i.Lo || was.Mid > i.Hi) {
				t.Errorf("%s: %s %+v is printed beside %+v measured", p.GC, k.name, i, was)
			}
		}
	}
	if capped < 4 {
		t.Errorf("%d settings with a limit", capped)
	}
	for i, p := range r.Frontier[1:] {
		if before := r.Frontier[i]; p.PeakBytes.Mid < before.PeakBytes.Mid || p.CPU.Mid >= before.CPU.Mid {
			t.Errorf("%s is not cheaper in CPU and dearer in memory than %s", p.GC, before.GC)
		}
	}
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"predicted":[{"gc":{"percent":10}`) {
		t.Errorf("%v: %.300s", err, data)
	}
	testFrontierScreen(t, r)
}

// TestFrontierLeavesOutWhatCrawls has a program that already spends nearly half on
// collection at the default.
func TestFrontierLeavesOutWhatCrawls(t *testing.T) {
	r, err := tuneSimulated(t, program(0.45), 0.01, nil)
	if err != nil {
		t.Fatal(err)
	}
	if least := r.Predicted[0]; least.CPU.Mid > 0 || r.onFrontier(least.GC) || len(least.Withheld) == 0 {
		t.Errorf("%s: %+v, is on the frontier: %v, withheld: %q", least.GC, least.CPU, r.onFrontier(least.GC), least.Withheld)
	}
	if len(r.Frontier) < 5 {
		t.Errorf("%d settings on the frontier", len(r.Frontier))
	}
}

func testFrontierScreen(t *testing.T, r *Answer) {
	t.Helper()
	var b strings.Builder
	if err := r.WriteMore(&b); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(b.String(), "GOGC[:GOMEMLIMIT]")
	table, rest, found := strings.Cut(table, fmt.Sprintf("%d of %d predicted settings are on the frontier", len(r.Frontier), len(r.Predicted)))
	if !found {
		t.Fatalf("no frontier:\n%s%s", b.String(), rest)
	}
	if n := strings.Count(table, "\n") - 1; n < 4 || n > frontierRows+2 {
		t.Errorf("%d rows on the screen:\n%s", n, table)
	}
	for _, gc := range []cell.GC{r.Base.GC, r.Setting.GC, r.Frontier[0].GC, r.Frontier[len(r.Frontier)-1].GC} {
		if !strings.Contains(table, "\n  "+gc.String()+" ") {
			t.Errorf("no row of %s:\n%s", gc, table)
		}
	}
}
