package report

import (
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// An htmlGrid is the primary metric by GC setting (columns) and everything
// else (rows), each cell with its ratio to the baseline.
type htmlGrid struct {
	ID, Title, Label, Metric, Baseline string
	Columns                            []string
	Rows                               []htmlGridRow
}

type htmlGridRow struct {
	Name  string
	Cells []htmlGridCell
}

type htmlGridCell struct {
	Value, PlusMinus, Ratio, Interval, Verdict, Class string
}

func (g *grid) html(id string) *htmlGrid {
	h := &htmlGrid{ID: id + "-table", Label: "Table of " + heading(g.metric) + ", " + g.section.name, Metric: heading(g.metric),
		Baseline: g.section.baseline().label, Columns: g.gcs}
	h.Title = "Configuration × GC setting"
	if _, ok := g.section.baseline().Config.Factor("strategy"); ok {
		h.Title = "Strategy × GC setting"
	}
	for _, rest := range g.rests {
		line := htmlGridRow{Name: rest}
		for _, gc := range g.gcs {
			line.Cells = append(line.Cells, g.htmlCell(rest, gc))
		}
		h.Rows = append(h.Rows, line)
	}
	return h
}

func (g *grid) htmlCell(rest, gc string) htmlGridCell {
	r := g.cells[[2]string{rest, gc}]
	if r == nil {
		return htmlGridCell{Value: absent}
	}
	f := r.figure(g.metric)
	out := htmlGridCell{Value: f.value(), PlusMinus: f.plusMinus()}
	if r == g.section.baseline() {
		out.Verdict = "baseline"
	}
	if c, ok := g.section.compared(r, g.metric); ok {
		out.Ratio, out.Interval, out.Verdict, out.Class = ratioText(c.Ratio), intervalText(c.Lo, c.Hi), string(c.Verdict), verdictClass(c.Verdict)
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

// figuresTable has every metric of every row.
func (s *section) figuresTable() *htmlTable {
	t := &htmlTable{Label: "All figures, " + s.name, Left: 1, Head: []string{"Configuration"}}
	var metrics []string
	for _, theme := range s.themes() {
		metrics = append(metrics, theme.metrics...)
	}
	for _, metric := range metrics {
		t.Head = append(t.Head, heading(metric))
	}
	if len(metrics) == 0 {
		return nil
	}
	for _, r := range s.rows {
		cells := []string{r.label}
		for _, metric := range metrics {
			cells = append(cells, r.figure(metric).String())
		}
		t.add(cells...)
	}
	return t
}

// comparisonsTable has every comparison with the baseline and why its verdict
// is what it is.
func (s *section) comparisonsTable() *htmlTable {
	if len(s.comparisons) == 0 {
		return nil
	}
	t := &htmlTable{Label: "Comparisons, " + s.name, Left: 3,
		Head: []string{"Configuration", "Metric", "Verdict", "baseline", "here", "ratio", "95 % interval", "p", "pairs", "noise floor", "why"}}
	for _, c := range s.comparisons {
		t.add(s.labelOf(c), heading(c.Metric), string(c.Verdict), s.format(c.Metric, c.AValue), s.format(c.Metric, c.BValue), ratioText(c.Ratio),
			intervalText(c.Lo, c.Hi), pText(c.P), strconv.Itoa(c.Pairs), ratioText(c.Floor), whyText(c))
		row := t.Rows[len(t.Rows)-1]
		row[2].Class, row[len(row)-1].Class = "text "+verdictClass(c.Verdict), "text why"
	}
	return t
}

// whyText is the reason for a verdict and the doubts about it.
func whyText(c stat.Comparison) string {
	return clean(strings.Join(append([]string{c.Reason}, c.Warnings...), "; "))
}

// floorsTable shows by how much two equal configurations differed.
func (s *section) floorsTable() *htmlTable {
	if len(s.floors) == 0 {
		return nil
	}
	t := &htmlTable{Label: "Noise floor, " + s.name, Left: 1, Head: []string{"Metric", "first", "second", "ratio", "95 % interval", "pairs"}}
	for _, c := range s.floors {
		t.add(heading(c.Metric), s.format(c.Metric, c.AValue), s.format(c.Metric, c.BValue), ratioText(c.Ratio), intervalText(c.Lo, c.Hi), strconv.Itoa(c.Pairs))
	}
	return t
}
