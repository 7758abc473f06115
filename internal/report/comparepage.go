package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// NewComparisonPage returns the page of run b against run a. onlyA and onlyB
// are the configurations that the other run has not, by key.
func NewComparisonPage(a, b Meta, comparisons []stat.Comparison, onlyA, onlyB []string, v View) *Page {
	p := &Page{Name: fmt.Sprintf("Run %d against run %d", b.RunID, a.RunID), Verdicts: verdictCounts(comparisons), Contents: []htmlContent{{"verdicts", "Verdicts"}}}
	if p.Verdicts == "" {
		p.Verdicts = "The two runs have no configuration in common: there is nothing to compare."
	}
	for _, side := range []struct {
		name string
		m    Meta
		only []string
	}{{"A", a, onlyA}, {"B", b, onlyB}} {
		p.Facts = append(p.Facts, htmlFact{side.name, fmt.Sprintf("%s, %s, %s", side.m.name(), side.m.created(), side.m.progress())})
		for _, key := range side.only {
			p.OnlyIn = append(p.OnlyIn, htmlFact{fmt.Sprintf("Only in run %d", side.m.RunID), clean(key)})
		}
	}
	if (a.Machine.Hostname == "") != (b.Machine.Hostname == "") {
		p.Facts = append(p.Facts, htmlFact{"Machines", "that of one run is not known: differences may be between machines"})
	}
	ids := newIdentifiers()
	for _, s := range pairSections(comparisons) {
		s.setExact(v.Exact)
		h := htmlSection{ID: ids.unique(s.name), Name: s.name, Comparisons: s.comparisonsTable(), Machines: s.byMachineTable(), Compared: "All metrics"}
		for _, plot := range []*htmlPlot{s.ratioPlot(h.ID), s.machinePlot(h.ID)} {
			if plot != nil {
				h.Plots = append(h.Plots, *plot)
			}
		}
		p.Sections = append(p.Sections, h)
		p.Contents = append(p.Contents, htmlContent{h.ID, h.Name})
	}
	p.Contents = append(p.Contents, htmlContent{"reading", "How to read this"})
	return p
}

// pairSections sorts comparisons by configuration.
func pairSections(comparisons []stat.Comparison) []*section {
	var out []*section
	byPair := map[string]*section{}
	for _, c := range comparisons {
		name := pairText(c)
		s := byPair[name]
		if s == nil {
			s = &section{name: name}
			byPair[name], out = s, append(out, s)
		}
		s.comparisons = append(s.comparisons, c)
	}
	return out
}

// verdictLook gives a verdict a colour and a shape.
var verdictLook = map[stat.Verdict]int{stat.Better: 0, stat.Worse: 1, stat.NoDifference: 6, stat.Inconclusive: 3, stat.Disagreement: 2}

// A ratioRow is a comparison in a chart of ratios.
type ratioRow struct {
	name string // in the description
	note string // behind the name in the chart
	c    stat.Comparison
}

// verdictLegend explains the verdicts, that of machines only where it occurs.
func verdictLegend(shown []ratioRow) (legend []htmlLegend) {
	for _, verdict := range stat.Verdicts {
		if verdict == stat.Disagreement && !slices.ContainsFunc(shown, func(r ratioRow) bool { return r.c.Verdict == verdict }) {
			continue
		}
		look := verdictLook[verdict]
		legend = append(legend, htmlLegend{swatch(look, fmt.Sprintf("curve s%d", look), true), string(verdict)})
	}
	return legend
}

// widen returns the bounds of a chart that has room for c, if not for all of a
// very wide interval.
func widen(lo, hi float64, c stat.Comparison) (float64, float64) {
	lo, hi = min(lo, c.Ratio), max(hi, c.Ratio)
	if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
		lo, hi = min(lo, max(c.Lo, c.Ratio/4)), max(hi, min(c.Hi, c.Ratio*4))
	}
	return lo, hi
}

// ratioPlot shows the ratios of the metrics that reports lead with; nil where
// none is finite.
func (s *section) ratioPlot(id string) *htmlPlot {
	var shown []ratioRow
	lo, hi := 0.8, 1.25
	for _, c := range s.comparisons {
		if !slices.Contains(stat.Headline, c.Metric) || !(c.Ratio > 0) || math.IsInf(c.Ratio, 0) || len(shown) == 24 {
			continue
		}
		better := "lower is better"
		if cell.HigherIsBetter(c.Metric) {
			better = "higher is better"
		}
		shown = append(shown, ratioRow{heading(c.Metric), ", " + better, c})
		lo, hi = widen(lo, hi, c)
	}
	if len(shown) == 0 {
		return nil
	}
	p := &htmlPlot{ID: id + "-ratios", Title: "Ratios of B to A", Section: s.name,
		Caption: "The bar is the interval, the dashed line is no change. The table has every metric.", Legend: verdictLegend(shown)}
	p.Panels = []htmlPanel{{"", s.ratioChart(p.ID+"-0", "Ratios of B to A, "+s.name, shown, lo, hi)}}
	p.Table = htmlTable{Label: "Ratios of B to A, " + s.name, Left: 2, Head: []string{"Metric", "Verdict", "A", "B", "ratio", "95 % interval"}}
	for _, r := range shown {
		c := r.c
		p.Table.add(heading(c.Metric), string(c.Verdict), s.format(c.Metric, c.AValue), s.format(c.Metric, c.BValue), ratioText(c.Ratio), intervalText(c.Lo, c.Hi))
	}
	return p
}

func (s *section) ratioChart(id, title string, shown []ratioRow, lo, hi float64) template.HTML {
	const rowHeight = 36
	f := frame{left: 8, top: 4, right: 472, bottom: 4 + rowHeight*float64(len(shown))}
	description := "Ratios with intervals."
	for _, r := range shown {
		c := r.c
		description += fmt.Sprintf(" %s: %s %s, %s.", r.name, ratioText(c.Ratio), intervalText(c.Lo, c.Hi), c.Verdict)
	}
	d := newDrawing(id, title, description, f.bottom+26)
	x := logScale(":x", lo, hi, f.left+20, f.right-24)
	d.horizontal(f, x, x.ticks(5), func(v float64) string { return tickText("", v) + "×" })
	d.line("base", x.at(1), f.top, x.at(1), f.bottom)
	for i, r := range shown {
		c, y := r.c, f.top+rowHeight*float64(i)
		look := verdictLook[c.Verdict]
		d.caption(f, y+14, r.name+r.note, ratioText(c.Ratio)+" "+intervalText(c.Lo, c.Hi))
		d.line("track", f.left, y+25, f.right, y+25)
		if c.Lo > 0 && !math.IsInf(c.Hi, 0) {
			d.line(fmt.Sprintf("bar s%d", look), x.at(c.Lo), y+25, x.at(c.Hi), y+25)
		}
		d.mark(look, point{x.at(c.Ratio), y + 25})
	}
	return d.done()
}
