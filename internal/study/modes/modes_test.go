package modes

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// measured is a run of all rows in which every figure is 1000, 1001, … times the factor of
// its mode in that row, 1 by default.
func measured(t *testing.T, factors map[string]map[string]float64) *stat.Analysis {
	t.Helper()
	cells, err := plan.Spec{Studies: Studies(), Repetitions: 10, Seed: 1}.Cells()
	if err != nil {
		t.Fatal(err)
	}
	var records []*cell.Record
	for _, c := range cells {
		rec := &cell.Record{Cell: c}
		factor := 1.0
		for _, name := range []string{"server", "mode"} {
			if f, ok := factors[c.Study][c.Params[name]]; ok {
				factor = f
			}
		}
		for _, metric := range []string{cell.OpCPU, cell.OpTime, cell.RSSPeak, tail, p99, cell.Throughput} {
			rec.Set(metric, factor*(1000+float64(c.Block)))
		}
		rec.Set(cell.Scheduled, 1000)
		rec.Set(cell.Done, 1000/factor)
		records = append(records, rec)
	}
	a, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		slab, arena float64
		want        string
	}{
		{1, 1, "pooled slab arena"}, {1.5, 1, "pooled arena"}, {0.8, 0.5, "arena"}, {2, 3, "pooled"},
	} {
		all, err := results(measured(t, map[string]map[string]float64{Rows[0].Name: {"slab": c.slab, "arena": c.arena}}))
		if err != nil {
			t.Fatal(err)
		}
		best, decided := all[0].best()
		if got := strings.Join(best, " "); got != c.want || (len(decided) == 0) != (len(best) == len(modes)) {
			t.Errorf("slab %v, arena %v: %s by %v, want %s", c.slab, c.arena, got, decided, c.want)
		}
	}
}

// TestPage holds that the page has a figure per mode for every workload and requirement of the document.
func TestPage(t *testing.T) {
	a := measured(t, map[string]map[string]float64{
		Rows[7].Name: {"slab": 2}, middling: {"arena": 2}, Rows[6].Name: {"slab": 1000},
	})
	var page strings.Builder
	if err := Page(&page, a, cell.Machine{CPU: "a CPU", CPUs: 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| Embedded, memory-constrained | slab | peak memory, then CPU a request | pooled or arena | slab takes 2x the peak memory of pooled",
		"| Uploads |  | CPU a request, then peak memory | any | no difference shown",
		"isobar lab run http --server pooled,slab,arena --headers 32",
		"| 10,000 to 100,000 requests/s | (ideal) **yes**: 100 % [100 %, 100 %] | (OK) **yes**: 100 % [100 %, 100 %] | (yes) **no**: 50 %",
		"| above 100,000 requests/s | (yes) **no**: ", "| p99 below 100 µs | (yes) **yes**: ", "(no) **no**: 1.00 ms",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "not measured") || strings.Contains(page.String(), "NaN") {
		t.Errorf("a cell without a figure:\n%s", page.String())
	}
	for i, g := range a.Groups {
		if g.Config.Study == Rows[3].Name {
			a.Groups = append(a.Groups[:i:i], a.Groups[i+1:]...)
			break
		}
	}
	if err := Page(&page, a, cell.Machine{}); err == nil || !strings.Contains(err.Error(), "WebSocket") {
		t.Errorf("a run without a row: %v", err)
	}
}
