package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
)

func TestForecast(t *testing.T) {
	a := &stat.Analysis{}
	for _, gc := range []cell.GC{cell.DefaultGC, {Percent: 400}} {
		g := &stat.Group{Config: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: gc}}
		g.Key = g.Config.Key()
		g.Series = map[string]stat.Series{
			cell.WallTime: seriesOf(cell.WallTime, 1, 1.1, 1.2), cell.TotalCPU: seriesOf(cell.TotalCPU, 2, 2, 2.1), cell.RSSPeak: seriesOf(cell.RSSPeak, 50<<20, 51<<20, 52<<20),
		}
		a.Groups = append(a.Groups, g)
	}
	forecasts := []plot.Forecast{
		{GC: cell.DefaultGC, Bytes: [3]float64{50 << 20, 48 << 20, 52 << 20}, CPU: [3]float64{2, 1.9, 2.1}, Wall: [3]float64{1.1, 1, 1.2}, Best: true},
		{GC: cell.GC{Percent: 400}, Bytes: [3]float64{120 << 20, 110 << 20, 130 << 20}, CPU: [3]float64{1.7, 1.6, 1.8}, Wall: [3]float64{0.9, 0.8, 1}},
		{GC: cell.GC{Percent: -1}, Bytes: [3]float64{900 << 20, 800 << 20, 990 << 20}, CPU: [3]float64{1.6, 1.5, 1.7}, Wall: [3]float64{0.85, 0.8, 0.9}},
		{GC: cell.GC{Percent: -1, LimitBytes: 96 << 20}, Bytes: [3]float64{96 << 20, 88 << 20, 99 << 20}, CPU: [3]float64{1.65, 1.6, 1.8}, Wall: [3]float64{0.88, 0.8, 1}, Best: true},
		{GC: cell.GC{Percent: -1, LimitBytes: 384 << 20}, Bytes: [3]float64{384 << 20, 320 << 20, 390 << 20}, CPU: [3]float64{1.55, 1.5, 1.7}, Wall: [3]float64{0.83, 0.8, 0.9}, Best: true},
		{GC: cell.GC{Percent: 400, LimitBytes: 96 << 20, Name: "<b>\x1b"}, Bytes: [3]float64{97 << 20, 88 << 20, 99 << 20}, CPU: [3]float64{1.7, 1.6, 1.8}, Wall: [3]float64{0.89, 0.8, 1}},
	}
	named := []plot.Named{
		{Name: "today", Setting: "GOGC=100", Key: a.Groups[0].Key, Bytes: 51 << 20, CPU: 2},
		{Name: "fastest, <i>", Setting: "GOGC=400", Key: "other", Bytes: 120 << 20, CPU: 1.7},
	}
	var with, without, roomy bytes.Buffer
	if err := page.Write(&with, page.Run{Meta: cell.Run{Name: "tune"}, Search: plot.Search{Forecasts: forecasts, Named: named}}, a); err != nil {
		t.Fatal(err)
	}
	if err := page.Write(&without, page.Run{Meta: cell.Run{Name: "tune"}}, a); err != nil {
		t.Fatal(err)
	}
	for i := range forecasts { // as tune chooses limits
		if f := &forecasts[i]; f.GC.LimitBytes > 0 {
			f.GC.Percent = 800
		}
	}
	if err := page.Write(&roomy, page.Run{Meta: cell.Run{Name: "tune"}, Search: plot.Search{Forecasts: forecasts}}, a); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(roomy.String(), `class="curve s6 dashed" d="M`); n != 1 || !strings.Contains(roomy.String(), "by GOMEMLIMIT, GOGC 800") {
		t.Errorf("%d curves of limits that have GOGC=800, or no legend of one", n)
	}
	if strings.Contains(without.String(), "CPU time against memory") {
		t.Error("a plot of predictions without any")
	}
	_, plot, found := strings.Cut(with.String(), "CPU time against memory")
	if !found {
		t.Fatal("no plot of predictions")
	}
	for _, want := range []string{"5 predicted settings and 3 measured ones", "CPU time against peak memory", "900 MiB", "off", "today: GOGC=100", `class="mark s2"`, "fastest, &lt;i&gt;",
		"by GOMEMLIMIT, GOGC off", "Pareto frontier", `<th scope="row">off:96MiB</th><td class="text">predicted</td><td class="text">yes</td><td>96.0 MiB</td>`,
		`<th scope="row">400</th><td class="text">predicted</td><td class="text">no</td>`, `<th scope="row">off</th><td class="text">predicted</td>`, "&lt;b&gt;"} {
		if !strings.Contains(plot, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	plot = plot[:strings.Index(plot, "</table>")]
	for class, want := range map[string]int{"curve plain dashed": 1, "curve s6 dashed": 1, "curve plain": 1} {
		if n := strings.Count(plot, `class="`+class+`" d="M`); n != want {
			t.Errorf("%d curves of class %s, want %d", n, class, want)
		}
	}
	if strings.ContainsAny(plot, "\x1b") || strings.Contains(plot, "<b>") {
		t.Error("the name of a setting is not escaped")
	}
}
