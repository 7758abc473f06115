package plot

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// verdictLook gives a verdict a colour and a shape.
var verdictLook = map[stat.Verdict]int{stat.Better: 0, stat.Worse: 1, stat.NoDifference: 6, stat.Inconclusive: 3,
	stat.Disagreement: 2}

// A ratioRow is a comparison in a chart of ratios.
type ratioRow struct {
	name string // in the description
	note string // after the name in the chart
	c    stat.Comparison
}

// verdictLegend explains the verdicts; disagreement of machines only if it occurs.
func verdictLegend(shown []ratioRow) (legend []Legend) {
	for _, verdict := range stat.Verdicts {
		if verdict == stat.Disagreement &&
			!slices.ContainsFunc(shown, func(r ratioRow) bool { return r.c.Verdict == verdict }) {
			continue
		}
		legend = append(legend, seriesKey(verdictLook[verdict], string(verdict)))
	}
	return legend
}

// widen widens the bounds of a chart to include c, but only part of a very wide interval.
func widen(lo, hi float64, c stat.Comparison) (float64, float64) {
	lo, hi = min(lo, c.Ratio), max(hi, c.Ratio)
	if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
		lo, hi = min(lo, max(c.Lo, c.Ratio/4)), max(hi, min(c.Hi, c.Ratio*4))
	}
	return lo, hi
}

// Ratios shows the ratios of the main metrics; nil if none is finite.
func Ratios(s *text.Section, id string) *Plot {
	var shown []ratioRow
	for _, c := range s.Comparisons {
		if slices.Contains(stat.Headline, c.Metric) && len(shown) < 24 {
			shown = append(shown, ratioRow{text.Heading(c.Metric), ", " + cell.Better(c.Metric) + " is better", c})
		}
	}
	return ratioPlot(s, Plot{ID: id + "-ratios", Title: "Ratios of B to A",
		Caption: "The bar is the interval, the dashed line is no change. The table has every metric.",
		Table:   text.Table{Label: "Ratios of B to A, " + s.Name, Head: []string{"Metric", "Verdict", "A", "B"}}}, shown)
}

// ratioPlot fills in a plot of the comparisons with a finite ratio; nil if there are none.
// p.Table has its label and the first column names.
func ratioPlot(s *text.Section, p Plot, all []ratioRow) *Plot {
	shown := slices.DeleteFunc(all, func(r ratioRow) bool { return !(r.c.Ratio > 0) || math.IsInf(r.c.Ratio, 0) })
	if len(shown) == 0 {
		return nil
	}
	p.Legend = verdictLegend(shown)
	p.Panels = []Panel{{"", ratioChart(p.ID+"-0", p.Table.Label, shown)}}
	p.Table.Left, p.Table.Head = 2, append(p.Table.Head, "ratio", "95 % interval", "pairs")
	for _, r := range shown {
		c := r.c
		p.Table.Add(r.name+r.note, string(c.Verdict), s.Format(c.Metric, c.AValue), s.Format(c.Metric, c.BValue),
			text.Ratio(c.Ratio), text.Interval(c.Lo, c.Hi), strconv.Itoa(c.Pairs))
	}
	return &p
}

func ratioChart(id, title string, shown []ratioRow) template.HTML {
	const rowHeight = 36
	f := frame{left: 8, top: 4, right: 472, bottom: 4 + rowHeight*float64(len(shown))}
	description := "Ratios with intervals."
	lo, hi := 0.8, 1.25
	for _, r := range shown {
		c := r.c
		lo, hi = widen(lo, hi, c)
		description += fmt.Sprintf(" %s: %s %s, %s.", r.name, text.Ratio(c.Ratio), text.Interval(c.Lo, c.Hi), c.Verdict)
	}
	d := newDrawing(id, title, description, f.bottom+26)
	x := logScale(":x", lo, hi, f.left+20, f.right-24)
	d.horizontal(f, x, x.ticks(5), func(v float64) string { return tickText("", v) + "×" })
	d.line("base", x.at(1), f.top, x.at(1), f.bottom)
	for i, r := range shown {
		c, y := r.c, f.top+rowHeight*float64(i)
		look := verdictLook[c.Verdict]
		d.caption(f, y+14, r.name+r.note, text.Ratio(c.Ratio)+" "+text.Interval(c.Lo, c.Hi))
		d.line("track", f.left, y+25, f.right, y+25)
		if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
			d.line(fmt.Sprintf("bar s%d", look), x.at(c.Lo), y+25, x.at(c.Hi), y+25)
		}
		d.mark(look, point{x.at(c.Ratio), y + 25})
	}
	return d.done()
}

// machineRows is the maximum number of rows in the plot by machine.
const machineRows = 40

// ByMachine draws each machine's ratios below the combined one, in the primary metric or
// the first available one; nil if only one machine measured.
func ByMachine(s *text.Section, id string) *Plot {
	primary, metric := s.Primary(), ""
	for _, c := range s.Comparisons {
		if c.Heterogeneity != nil && (metric == "" || c.Metric == primary) {
			metric = c.Metric
		}
	}
	var shown []ratioRow
	for _, c := range s.Comparisons {
		if c.Heterogeneity == nil || c.Metric != metric || len(shown)+1+len(c.Machines) > machineRows {
			continue
		}
		shown = append(shown, ratioRow{s.LabelOf(c), ", all", c})
		for _, m := range c.Machines {
			shown = append(shown, ratioRow{"on " + text.Clean(m.Machine.Name), "", m.Comparison})
		}
	}
	return ratioPlot(s, Plot{ID: id + "-machines", Title: "By machine: " + text.Heading(metric),
		Caption: "Ratio to the baseline, paired within each machine. The bar is the interval, the dashed line is no change.",
		Table: text.Table{Label: "Ratios by machine, " + s.Name,
			Head: []string{"Configuration and machine", "Verdict", "baseline", "here"}}}, shown)
}
