package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runOf is a run in which the modes' values are the factors times 1000, 1001, …
func runOf(r row, factors map[string]float64) []byte {
	metrics := func(factor float64) map[string]any {
		all := map[string]any{}
		for _, metric := range r.metrics {
			var blocks []int
			var values []float64
			for b := range 10 {
				blocks, values = append(blocks, b), append(values, factor*(1000+float64(b)))
			}
			all[metric] = map[string]any{"blocks": blocks, "values": values}
		}
		return all
	}
	var groups, comparisons []any
	for _, mode := range modes {
		groups = append(groups, map[string]any{"config": map[string]any{"params": map[string]string{r.factor: mode}}, "metrics": metrics(factors[mode])})
	}
	for _, metric := range r.metrics {
		comparisons = append(comparisons, map[string]any{"metric": metric, "floor": 1.1})
	}
	data, err := json.Marshal(map[string]any{"groups": groups, "comparisons": comparisons})
	if err != nil {
		panic(err)
	}
	return data
}

func TestBest(t *testing.T) {
	r := row{name: "r", factor: "server", metrics: []string{cpu}}
	for _, c := range []struct {
		slab, arena float64
		want        string
	}{
		{1, 1, "pooled slab arena"},
		{1.05, 0.97, "pooled slab arena"}, // within the noise floor of each other
		{1.5, 1, "pooled arena"},
		{0.8, 0.5, "arena"},
		{2, 3, "pooled"},
	} {
		res, err := decode(runOf(r, map[string]float64{"pooled": 1, "slab": c.slab, "arena": c.arena}), r)
		if err != nil {
			t.Fatal(err)
		}
		best, decided := res.best()
		if got := strings.Join(best, " "); got != c.want || (len(decided) == 0) != (len(best) == len(modes)) {
			t.Errorf("slab %v, arena %v: %s by %v, want %s", c.slab, c.arena, got, decided, c.want)
		}
	}
	if _, err := decode([]byte(`{"run":{"failed":1}}`), r); err == nil {
		t.Error("a run with a failed cell was taken")
	}
	if _, err := decode([]byte(`{}`), r); err == nil {
		t.Error("a run without modes was taken")
	}
}

// TestPage writes the page of rows that were kept.
func TestPage(t *testing.T) {
	keep := t.TempDir()
	for _, r := range append(append([]row(nil), rows...), plain, work) {
		factors := map[string]float64{"pooled": 1, "slab": 1, "arena": 1}
		if r.name == "memory" {
			factors["slab"] = 2
		}
		if err := os.WriteFile(filepath.Join(keep, r.name+".json"), runOf(r, factors), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var page strings.Builder
	l := &lab{keep: keep}
	if err := l.page(&page, regexp.MustCompile("none")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| memory-constrained | peak memory, then CPU a request | pooled or arena | slab takes 2x the peak memory of pooled",
		"| uploads | CPU a request, then peak memory | any | no difference shown",
		"isobar lab run http --server pooled,slab,arena --headers 32",
		"| peak memory | 0.0 MB | 0.0 MB | 2 [2, 2] | worse |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
	l.isobar = "/nonexistent/isobar"
	if err := l.page(&page, regexp.MustCompile("rest")); err == nil || !strings.Contains(fmt.Sprint(err), "rest") {
		t.Errorf("a row was measured without the command: %v", err)
	}
}
