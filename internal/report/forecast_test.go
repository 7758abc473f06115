package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/stat"
)

func TestForecast(t *testing.T) {
	a := &stat.Analysis{}
	for _, gc := range []cell.GC{cell.DefaultGC, {Percent: 400}} {
		g := &stat.Group{Config: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: gc}}
		g.Key = g.Config.Key()
		g.Series = map[string]stat.Series{
			cell.WallTime: series(cell.WallTime, 1, 1.1, 1.2), cell.TotalCPU: series(cell.TotalCPU, 2, 2, 2.1), cell.RSSPeak: series(cell.RSSPeak, 50<<20, 51<<20, 52<<20),
		}
		a.Groups = append(a.Groups, g)
	}
	forecasts := []Forecast{
		{GC: cell.DefaultGC, Bytes: [3]float64{50 << 20, 48 << 20, 52 << 20}, CPU: [3]float64{2, 1.9, 2.1}, Wall: [3]float64{1.1, 1, 1.2}},
		{GC: cell.GC{Percent: 400}, Bytes: [3]float64{120 << 20, 110 << 20, 130 << 20}, CPU: [3]float64{1.7, 1.6, 1.8}, Wall: [3]float64{0.9, 0.8, 1}},
		{GC: cell.GC{Percent: -1}, Bytes: [3]float64{900 << 20, 800 << 20, 990 << 20}, CPU: [3]float64{1.6, 1.5, 1.7}, Wall: [3]float64{0.85, 0.8, 0.9}},
	}
	var with, without bytes.Buffer
	if err := HTML(&with, Meta{Title: "tune", Forecasts: forecasts}, a); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&without, Meta{Title: "tune"}, a); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(without.String(), "Predicted and measured") {
		t.Error("a plot of predictions without any")
	}
	_, plot, found := strings.Cut(with.String(), "Predicted and measured")
	if !found {
		t.Fatal("no plot of predictions")
	}
	for _, want := range []string{"3 predicted settings and 2 measured ones", "CPU time against peak memory", "Wall time against GOGC", "900 MiB", "off"} {
		if !strings.Contains(plot, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	if n := strings.Count(plot[:strings.Index(plot, "</table>")], `class="curve plain dashed" d="M`); n != 2 {
		t.Errorf("%d predicted curves, want 2", n)
	}
}
