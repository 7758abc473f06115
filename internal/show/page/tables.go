package page

import (
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// phasesTable shows what the collector did during the slowest operations; empty without a trace.
func phasesTable(s *text.Section) *plot.Table {
	t := &plot.Table{Label: "What the collector did during the slowest operations, " + s.Name, Left: 2,
		Head: append([]string{"Configuration"}, text.PhaseHead...)}
	for _, r := range s.Rows {
		if sum := r.Phases(); sum != nil {
			for _, cells := range text.PhaseCells(sum) {
				t.Add(append([]string{r.Label}, cells...)...)
			}
		}
	}
	return t
}

// A grid is the primary metric by GC setting (columns) and everything
// else (rows), each cell with its ratio to the baseline.
type grid struct {
	ID, Title, Label, Metric, Baseline string
	Columns                            []string
	Rows                               []gridRow
}

type gridRow struct {
	Name  string
	Cells []gridCell
}

type gridCell struct {
	Value, PlusMinus, Ratio, Interval, Verdict, Class string
}

func gridOf(g *text.Grid, id string) *grid {
	h := &grid{ID: id + "-table", Label: "Table of " + text.Heading(g.Metric) + ", " + g.Section.Name,
		Metric:   text.Heading(g.Metric),
		Baseline: g.Section.Baseline().Label, Columns: g.GCs}
	h.Title = "Configuration × GC setting"
	if _, ok := g.Section.Baseline().Config.Factor("strategy"); ok {
		h.Title = "Strategy × GC setting"
	}
	for _, rest := range g.Rests {
		line := gridRow{Name: rest}
		for _, gc := range g.GCs {
			line.Cells = append(line.Cells, gridCellOf(g, rest, gc))
		}
		h.Rows = append(h.Rows, line)
	}
	return h
}

func gridCellOf(g *text.Grid, rest, gc string) gridCell {
	r := g.Cells[[2]string{rest, gc}]
	if r == nil {
		return gridCell{Value: text.Absent}
	}
	f := r.Figure(g.Metric)
	out := gridCell{Value: f.Value(), PlusMinus: f.PlusMinus()}
	if r == g.Section.Baseline() {
		out.Verdict = "baseline"
	}
	if c, ok := g.Section.Compared(r, g.Metric); ok {
		out.Ratio, out.Interval, out.Verdict, out.Class = text.Ratio(c.Ratio), text.Interval(c.Lo, c.Hi), string(c.Verdict),
			verdictClass(c.Verdict)
	}
	return out
}

func verdictClass(v stat.Verdict) string {
	switch v {
	case stat.Better:
		return "better"
	case stat.Worse:
		return "worse"
	}
	return "undecided"
}

// figuresTable shows every metric of every row.
func figuresTable(s *text.Section) *plot.Table {
	t := &plot.Table{Label: "All figures, " + s.Name, Left: 1, Head: []string{"Configuration"}}
	var metrics []string
	for _, theme := range s.Themes() {
		metrics = append(metrics, theme.Metrics...)
	}
	for _, metric := range metrics {
		t.Head = append(t.Head, text.Heading(metric))
	}
	if len(metrics) == 0 {
		return t
	}
	for _, r := range s.Rows {
		cells := []string{r.Label}
		for _, metric := range metrics {
			cells = append(cells, r.Figure(metric).String())
		}
		t.Add(cells...)
	}
	return t
}

// comparisonsTable shows every comparison with the baseline, and the reason for its verdict.
func comparisonsTable(s *text.Section) *plot.Table {
	t := &plot.Table{Label: "Comparisons, " + s.Name, Left: 3,
		Head: []string{"Configuration", "Metric", "Verdict", "baseline", "here", "ratio", "95 % interval", "p", "pairs",
			"noise floor", "why"}}
	for _, c := range s.Comparisons {
		cells := append([]string{s.LabelOf(c), text.Heading(c.Metric)}, comparisonCells(s, c)...)
		addVerdict(t, c.Verdict, append(cells, text.Ratio(c.Floor),
			strings.Join(append([]string{c.Reason}, c.Warnings...), "; "))...)
	}
	return t
}

// comparisonCells returns a verdict and the figures behind it.
func comparisonCells(s *text.Section, c stat.Comparison) []string {
	return []string{string(c.Verdict), s.Format(c.Metric, c.AValue), s.Format(c.Metric, c.BValue), text.Ratio(c.Ratio),
		text.Interval(c.Lo, c.Hi), text.PValue(c.P), strconv.Itoa(c.Pairs)}
}

// addVerdict adds a row with a verdict in the last text column and its reason at the end.
func addVerdict(t *plot.Table, v stat.Verdict, cells ...string) {
	last := len(cells) - 1
	cells[last] = text.Clean(cells[last])
	t.Add(cells...)
	row := t.Rows[len(t.Rows)-1]
	row[t.Left-1].Class, row[last].Class = "text "+verdictClass(v), "text why"
}

// floorsTable shows how much two equal configurations differed.
func floorsTable(s *text.Section) *plot.Table {
	t := &plot.Table{Label: "Noise floor, " + s.Name, Left: 1,
		Head: []string{"Metric", "first", "second", "ratio", "95 % interval", "pairs"}}
	for _, c := range s.Floors {
		t.Add(text.Heading(c.Metric), s.Format(c.Metric, c.AValue), s.Format(c.Metric, c.BValue), text.Ratio(c.Ratio),
			text.Interval(c.Lo, c.Hi), strconv.Itoa(c.Pairs))
	}
	return t
}
