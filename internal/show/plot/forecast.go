package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Forecast is a model's prediction for one setting of the collector. Each
// figure has the expected value and the ends of its interval.
type Forecast struct {
	GC               cell.GC
	Procs            int // GOMAXPROCS; 0 for the runtime's choice
	Bytes, CPU, Wall [3]float64
	Unsure           bool // the model wants this one measured
	UnsureMemory     bool // the model is unsure of Bytes only
	Best             bool // no other needs both less memory and less CPU time
}

// percent is the GOGC for the axis; beyond all others for off.
func (f Forecast) percent() float64 {
	if f.GC.Percent < 0 {
		return 6400
	}
	return float64(f.GC.Percent)
}

// doubt says what the model is unsure of.
func (f Forecast) doubt() string {
	switch {
	case f.Unsure:
		return "predicted, unsure"
	case f.UnsureMemory:
		return "predicted, memory unsure"
	}
	return "predicted"
}

// A forecastLine is one curve of predictions.
type forecastLine struct {
	class     string
	forecasts []Forecast // in the order of the curve
}

// Predicted draws the predicted curves, with the section's measurements on top;
// nil without a forecast. Forecasts are sorted by GOGC, then by GOMEMLIMIT.
func Predicted(s *text.Section, id string, forecasts []Forecast) *Plot {
	if len(forecasts) == 0 {
		return nil
	}
	p := &Plot{ID: id + "-forecast", Title: "Predicted and measured", Section: s.Name, Wide: true, Pairs: true,
		Caption: "Lines are the model, vertical bars its 90 % intervals, markers the measured medians. Left: CPU time " +
			"against memory. Right: time against GOGC, with off at the right end.",
		Legend: []Legend{{swatch(0, "curve plain dashed", false), "predicted, by GOGC"}}}
	p.Table = Table{Label: "Predicted figures, " + s.Name, Left: 3,
		Head: []string{"Setting", "from", "on the frontier", "peak memory", "low", "high", "CPU time", "low", "high",
			"wall time", "low", "high"}}
	percents, limits := forecastLine{class: "curve plain dashed"}, forecastLine{class: "curve s1 dashed"}
	frontier := forecastLine{class: "curve plain"}
	percent := map[string]float64{}
	for _, f := range forecasts {
		best := "no"
		if f.Best {
			best = "yes"
			frontier.forecasts = append(frontier.forecasts, f)
		}
		switch {
		case f.GC.LimitBytes == 0:
			percents.forecasts = append(percents.forecasts, f)
			percent["gc="+f.GC.String()] = f.percent()
		case f.GC.Percent < 0:
			limits.forecasts = append(limits.forecasts, f)
		}
		row := []string{text.Clean(f.GC.String()), f.doubt(), best}
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
	lines := []forecastLine{percents}
	if len(limits.forecasts) > 0 {
		lines = append(lines, limits)
		p.Legend = append(p.Legend, Legend{swatch(0, limits.class, false), "by GOMEMLIMIT, GOGC off"})
	}
	if len(frontier.forecasts) > 0 {
		lines = append(lines, frontier)
		p.Legend = append(p.Legend, Legend{swatch(0, frontier.class, false), "Pareto frontier"})
		p.Caption += " The frontier joins the settings that no other beats in both; the table names them, and says " +
			"where the model is unsure."
		slices.SortStableFunc(frontier.forecasts, func(a, b Forecast) int { return cmp.Compare(a.Bytes[0], b.Bytes[0]) })
	}
	p.Legend = append(p.Legend, Legend{swatch(0, "curve s0", true), "measured"})
	var byMemory, byPercent []point
	for _, r := range s.Rows {
		memory, cpu, wall := r.Figure(cell.RSSPeak), r.Figure(cell.TotalCPU), r.Figure(cell.WallTime)
		if memory.N > 0 && cpu.N > 0 {
			byMemory = append(byMemory, point{memory.Median, cpu.Median})
		}
		if at, ok := percent[r.Label]; ok && wall.N > 0 {
			byPercent = append(byPercent, point{at, wall.Median})
		}
	}
	left := forecastChart(p.ID+"-0", "CPU time against peak memory", cell.RSSPeak, lines, byMemory,
		func(f Forecast) (float64, [3]float64) { return f.Bytes[0], f.CPU })
	right := forecastChart(p.ID+"-1", "Wall time against GOGC", "/gogc:percent", lines[:1], byPercent,
		func(f Forecast) (float64, [3]float64) { return f.percent(), f.Wall })
	p.Panels = []Panel{left, right}
	return p
}

func forecastChart(id, title, metric string, lines []forecastLine, measured []point,
	of func(Forecast) (float64, [3]float64)) Panel {
	lo, hi, top := math.Inf(1), 0.0, 0.0
	settings := map[cell.GC]bool{}
	for _, line := range lines {
		for _, f := range line.forecasts {
			x, y := of(f)
			lo, hi, top = min(lo, x), max(hi, x), max(top, y[2])
			settings[f.GC] = true
		}
	}
	for _, m := range measured {
		lo, hi, top = min(lo, m.x), max(hi, m.x), max(top, m.y)
	}
	f := frame{left: 72, top: 10, right: 464, bottom: 200}
	d := newDrawing(id, title, fmt.Sprintf("%d predicted settings and %d measured ones.", len(settings),
		len(measured)), 226)
	x, y := logScale(metric, lo, hi, f.left+8, f.right-8), linearScale(cell.WallTime, top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	d.horizontal(f, x, x.ticks(5), func(v float64) string {
		if metric == cell.RSSPeak {
			return tickText(metric, v)
		}
		return text.Count(v)
	})
	for _, line := range lines {
		var points []point
		for _, forecast := range line.forecasts {
			at, value := of(forecast)
			points = append(points, point{x.at(at), y.at(value[0])})
			d.line("axis", x.at(at), y.at(value[1]), x.at(at), y.at(value[2]))
		}
		d.curve(line.class, points)
	}
	for _, m := range measured {
		d.mark(0, point{x.at(m.x), y.at(m.y)})
	}
	return Panel{title, d.done()}
}
