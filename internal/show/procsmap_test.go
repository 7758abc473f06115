package show_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestProcsMapOfPage checks what the page says about the map.
func TestProcsMapOfPage(t *testing.T) {
	g := groupOf("exec", "", cell.DefaultGC, 100)
	g.Series[cell.WallTime] = seriesOf(cell.WallTime, 1, 1.1)
	a := &stat.Analysis{Groups: []*stat.Group{g}}
	m := &plot.ProcsMap{Figures: []plot.MapFigure{{Metric: cell.WallTime}}}
	m.Forecasts = []plot.Forecast{{GC: cell.DefaultGC, Procs: 1, Wall: [3]float64{1, 1, 1}}}
	var shown bytes.Buffer
	if err := page.Write(&shown, page.Run{Meta: cell.Run{Name: "tune"}, Procs: m}, a); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GC setting × GOMAXPROCS", "predicted", "90 % intervals"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// tunedProgram is what tune measured of a made-up program: two settings with the program's
// own GOMAXPROCS and one with 1; and a model's predictions for four settings with each.
func tunedProgram() (*stat.Analysis, *plot.ProcsMap) {
	a := &stat.Analysis{}
	add := func(gc cell.GC, procs int, wall float64) {
		g := &stat.Group{Config: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: gc, GOMAXPROCS: procs}}
		g.Key = g.Config.Key()
		g.Series = map[string]stat.Series{
			cell.WallTime: seriesOf(cell.WallTime, wall, 1.1*wall, 1.2*wall), cell.TotalCPU: seriesOf(cell.TotalCPU, 2, 2, 2.1), cell.RSSPeak: seriesOf(cell.RSSPeak, 50<<20, 51<<20),
		}
		a.Groups = append(a.Groups, g)
	}
	add(cell.DefaultGC, 0, 1)
	add(cell.GC{Percent: 400}, 0, 0.8)
	add(cell.GC{Percent: 400}, 1, 1.6)
	m := &plot.ProcsMap{Figures: []plot.MapFigure{{Metric: cell.WallTime}, {Metric: cell.TotalCPU}}}
	for i, procs := range []int{0, 1} {
		for k, gc := range []cell.GC{cell.DefaultGC, {Percent: 200}, {Percent: 400}, {Percent: -1}} {
			wall := float64(i+1) * []float64{1.3, 1, 0.7, 0.75}[k]
			m.Forecasts = append(m.Forecasts, plot.Forecast{GC: gc, Procs: procs, Wall: [3]float64{wall, 0.9 * wall, 1.1 * wall}, CPU: [3]float64{2, 1.5, 2.5}})
		}
	}
	return a, m
}

func TestProcsMap(t *testing.T) {
	a, m := tunedProgram()
	p := plot.HeatMap(text.Sections(a)[0], "exec", plot.Procs, m)
	var b bytes.Buffer
	fmt.Fprintln(&b, strings.Join(p.Table.Head, " | "))
	for _, row := range p.Table.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		fmt.Fprintln(&b, strings.Join(cells, " | "))
	}
	for _, panel := range p.Panels {
		fmt.Fprintln(&b, panel.Title)
		fmt.Fprintln(&b, strings.ReplaceAll(string(panel.SVG), "><", ">\n<"))
	}
	golden(t, "procsmap.golden", b.Bytes())
	if n := strings.Count(string(p.Panels[0].SVG), `class="heat-measured"`); n != 3 {
		t.Errorf("%d cells are marked as measured, want 3", n)
	}
}

// TestProcsMapOfOneRow shows the map for one value of GOMAXPROCS, on request; a
// run of the lab needs two.
func TestProcsMapOfOneRow(t *testing.T) {
	a, m := tunedProgram()
	a.Groups = a.Groups[:2]
	m.Forecasts = m.Forecasts[:4]
	s := text.Sections(a)[0]
	if p := plot.HeatMap(s, "exec", plot.Procs, m); p == nil || len(p.Panels) != 2 || len(p.Table.Rows) != 8 {
		t.Errorf("a map of one row: %+v", p)
	}
	if p := plot.HeatMap(s, "exec", plot.Procs, nil); p != nil {
		t.Errorf("a map of %d panels, though GOMAXPROCS does not vary", len(p.Panels))
	}
}

// TestProcsMapOfTheLab is the map of a run with both factors, all measured.
func TestProcsMapOfTheLab(t *testing.T) {
	a, _ := tunedProgram()
	p := plot.HeatMap(text.Sections(a)[0], "exec", plot.Procs, nil)
	if p == nil || len(p.Panels) != 1 || len(p.Legend) > 0 || strings.Contains(string(p.Panels[0].SVG), "heat-measured") || len(p.Table.Rows) != 3 {
		t.Fatalf("%+v", p)
	}
}
