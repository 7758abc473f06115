package plot

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// verdictLook gives a verdict a colour and a shape.
var verdictLook = map[stat.Verdict]int{stat.Better: 0, stat.Worse: 1, stat.NoDifference: 6, stat.Inconclusive: 3,
	stat.Disagreement: 2}

// widen widens the bounds of a chart to include c, but only part of a very wide interval.
func widen(lo, hi float64, c stat.Comparison) (float64, float64) {
	lo, hi = min(lo, c.Ratio), max(hi, c.Ratio)
	if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
		lo, hi = min(lo, max(c.Lo, c.Ratio/4)), max(hi, min(c.Hi, c.Ratio*4))
	}
	return lo, hi
}

// maxRatios is the number of ratios that a plot shows.
const maxRatios = 24

// Ratios shows the ratios of the main metrics; nil if none is finite.
func Ratios(s *text.Section, id string) *Plot {
	shown := slices.DeleteFunc(slices.Clone(s.Comparisons), func(c stat.Comparison) bool {
		return !slices.Contains(stat.Headline, c.Metric) || !(c.Ratio > 0) || math.IsInf(c.Ratio, 0)
	})
	if len(shown) == 0 {
		return nil
	}
	shown = shown[:min(len(shown), maxRatios)]
	p := &Plot{ID: id + "-ratios", Title: "Ratios of B to A", Table: *s.ComparisonTable(shown),
		Caption: "The bar is the interval, the dashed line is no change. Lower is better; higher in rows with ↑. " +
			"The table has every metric."}
	p.Table.Label = "Ratios of B to A, " + s.Name
	for _, verdict := range stat.Verdicts {
		if slices.ContainsFunc(shown, func(c stat.Comparison) bool { return c.Verdict == verdict }) {
			p.Legend = append(p.Legend, seriesKey(verdictLook[verdict], string(verdict)))
		}
	}
	p.Panels = []Panel{{"", ratioChart(p.ID+"-0", p.Table.Label, shown)}}
	return p
}

func ratioChart(id, title string, shown []stat.Comparison) template.HTML {
	const rowHeight = 36
	f := frame{left: 8, top: 4, right: 472, bottom: 4 + rowHeight*float64(len(shown))}
	description := "Ratios with intervals."
	lo, hi := 0.8, 1.25
	for _, c := range shown {
		lo, hi = widen(lo, hi, c)
		description += fmt.Sprintf(" %s: %s %s, %s.", text.Heading(c.Metric), text.Ratio(c.Ratio), text.Interval(c.Lo, c.Hi),
			c.Verdict)
	}
	d := newDrawing(id, title, description, f.bottom+26)
	x := logScale(":x", lo, hi, f.left+20, f.right-24)
	d.horizontal(f, x, x.ticks(5), func(v float64) string { return tickText("", v) + "×" })
	d.line("base", x.at(1), f.top, x.at(1), f.bottom)
	for i, c := range shown {
		y, look := f.top+rowHeight*float64(i), verdictLook[c.Verdict]
		name := text.Heading(c.Metric)
		if cell.HigherIsBetter(c.Metric) {
			name += " ↑"
		}
		d.caption(f, y+14, name,
			text.Ratio(c.Ratio)+" "+text.Interval(c.Lo, c.Hi))
		d.line("track", f.left, y+25, f.right, y+25)
		if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
			d.line(fmt.Sprintf("bar s%d", look), x.at(c.Lo), y+25, x.at(c.Hi), y+25)
		}
		d.mark(look, point{x.at(c.Ratio), y + 25})
	}
	return d.done()
}
