package plot

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Forecast is a model's prediction for one setting of the collector, or a measurement of
// it. Each figure has the expected value and the ends of its interval.
type Forecast struct {
	GC               cell.GC
	Procs            int // GOMAXPROCS; 0 for the runtime's choice
	Bytes, CPU, Wall [3]float64
	Measured         bool // the figures come from runs
	Best             bool // no other setting needs both less memory and less CPU time
}

// from names the source of figures.
func from(measured bool) string {
	if measured {
		return "measured"
	}
	return "predicted"
}

// A Named is a measured setting with a name in the answer of a tuned run.
type Named struct {
	Name       string  // such as "today", or "fastest"
	Setting    string  // as environment variables, and whether it is proven
	Key        string  // of the configuration
	Bytes, CPU float64 // peak memory, and CPU time in seconds: medians of the fresh rounds
}

// A Search is what a tuned run knows about CPU time and memory besides its records.
type Search struct {
	Forecasts []Forecast // by GOGC, then by GOMEMLIMIT
	Named     []Named    // today's setting first
}

// A forecastLine is one curve of predictions.
type forecastLine struct {
	class     string
	forecasts []Forecast // in the order of the curve
}

// Tradeoff draws CPU time against memory: the section's measurements, the settings that the
// answer names, and the curves that a model predicts; nil if the search has neither named
// settings nor predictions.
func Tradeoff(s *text.Section, id string, search Search) *Plot {
	if len(search.Forecasts)+len(search.Named) == 0 {
		return nil
	}
	p := &Plot{ID: id + "-tradeoff", Title: "CPU time against memory", Section: s.Name,
		Caption: "Medians of the runs; left and low is better."}
	p.Table = text.Table{Label: "CPU time against memory, " + s.Name, Left: 3,
		Head: []string{"Setting", "from", "on the frontier", "peak memory", "low", "high", "CPU time", "low", "high",
			"wall time", "low", "high"}}
	var points tradeoffPoints
	named := map[string]bool{}
	for i, n := range search.Named {
		points.named = append(points.named, point{n.Bytes, n.CPU})
		p.Legend = append(p.Legend, seriesKey(1+i, n.Name+": "+n.Setting))
		named[n.Key] = true
		p.Table.Add(n.Setting, n.Name, "", s.Format(cell.RSSPeak, n.Bytes), "", "", s.Format(cell.TotalCPU, n.CPU), "",
			"", "", "", "")
	}
	if len(search.Forecasts) > 0 {
		points.lines = predict(s, p, search.Forecasts)
	}
	for _, r := range s.Rows {
		bytes, cpu := r.Figure(cell.RSSPeak), r.Figure(cell.TotalCPU)
		if bytes.N > 0 && cpu.N > 0 && !named[r.Key] {
			points.measured = append(points.measured, point{bytes.Median, cpu.Median})
		}
	}
	if len(points.measured) > 0 {
		p.Legend = append(p.Legend, seriesKey(0, "measured"))
	}
	p.Panels = []Panel{{SVG: points.draw(p.ID + "-0")}}
	return p
}

// mostLimited returns a setting with the most common GOGC among those with a limit.
func mostLimited(forecasts []Forecast) (most cell.GC) {
	count := map[int]int{}
	for _, f := range forecasts {
		if f.GC.LimitBytes > 0 {
			if count[f.GC.Percent]++; count[f.GC.Percent] > count[most.Percent] {
				most = f.GC
			}
		}
	}
	return most
}

// predict adds the predictions to a plot's table, legend and caption, and returns their
// curves, the one over GOGC first.
func predict(s *text.Section, p *Plot, forecasts []Forecast) []forecastLine {
	percents, limits := forecastLine{class: "curve plain dashed"}, forecastLine{class: "curve s6 dashed"}
	frontier := forecastLine{class: "curve plain"}
	limited := mostLimited(forecasts)
	for _, f := range forecasts {
		if f.Best {
			frontier.forecasts = append(frontier.forecasts, f)
		}
		switch {
		case f.GC.LimitBytes == 0:
			percents.forecasts = append(percents.forecasts, f)
		case f.GC.Percent == limited.Percent:
			limits.forecasts = append(limits.forecasts, f)
		}
		row := []string{text.Clean(f.GC.String()), from(f.Measured),
			map[bool]string{true: "yes", false: "no"}[f.Best]}
		for _, v := range f.Bytes {
			row = append(row, s.Format(cell.RSSPeak, v))
		}
		for _, three := range [][3]float64{f.CPU, f.Wall} {
			for _, v := range three {
				row = append(row, s.Format(cell.WallTime, v))
			}
		}
		p.Table.Add(row...)
	}
	p.Caption += " Lines are the model, corrected by the runs; vertical bars are its 90 % intervals. A figure that " +
		"the model cannot tell is left out."
	p.Legend = append(p.Legend, lineKey("curve plain dashed", "predicted, by GOGC"))
	lines := []forecastLine{percents}
	if len(limits.forecasts) > 0 {
		lines = append(lines, limits)
		p.Legend = append(p.Legend, lineKey(limits.class, "by GOMEMLIMIT, GOGC "+limited.GOGC()))
	}
	if len(frontier.forecasts) > 0 {
		lines = append(lines, frontier)
		p.Legend = append(p.Legend, lineKey(frontier.class, "Pareto frontier"))
		p.Caption += " The frontier joins the settings that no other beats in both; the table names them."
		slices.SortStableFunc(frontier.forecasts, func(a, b Forecast) int { return cmp.Compare(a.Bytes[0], b.Bytes[0]) })
	}
	return lines
}

// tradeoffPoints are curves of predictions, with the measured medians on top.
type tradeoffPoints struct {
	lines    []forecastLine
	measured []point
	named    []point // in the order of the legend
}

// beyond is the factor by which the vertical axis may exceed the largest measured value.
const beyond = 2

func (p *tradeoffPoints) draw(id string) template.HTML {
	lo, hi, top, most := math.Inf(1), 0.0, 0.0, 0.0
	settings := map[cell.GC]bool{}
	for _, line := range p.lines {
		for _, f := range line.forecasts {
			lo, hi, top = min(lo, f.Bytes[0]), max(hi, f.Bytes[0]), max(top, f.CPU[2])
			settings[f.GC] = true
		}
	}
	measured := slices.Concat(p.measured, p.named)
	for _, m := range measured {
		lo, hi, most = min(lo, m.x), max(hi, m.x), max(most, m.y)
	}
	if top = max(top, most); most > 0 {
		top = min(top, beyond*most)
	}
	f := frame{left: 72, top: 24, right: 464, bottom: 214}
	d := newDrawing(id, "CPU time against peak memory", fmt.Sprintf("%d predicted settings and %d measured ones.",
		len(settings), len(measured)), 258)
	x, y := logScale(cell.RSSPeak, lo, hi, f.left+8, f.right-8), linearScale(cell.TotalCPU, top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	d.horizontal(f, x, x.ticks(5), nil)
	d.text("label", "start", 4, 10, "CPU time")
	d.text("label", "middle", (f.left+f.right)/2, f.bottom+38, "peak memory")
	for _, line := range p.lines {
		var points []point
		for _, forecast := range line.forecasts {
			at, value := x.at(forecast.Bytes[0]), forecast.CPU
			if value[0] > y.hi {
				continue
			}
			points = append(points, point{at, y.at(value[0])})
			d.line("interval", at, y.at(value[1]), at, y.at(value[2]))
		}
		d.curve(line.class, points)
	}
	for _, m := range p.measured {
		d.mark(0, point{x.at(m.x), y.at(m.y)})
	}
	for i, n := range p.named {
		d.mark(1+i, point{x.at(n.x), y.at(n.y)})
	}
	return d.done()
}
