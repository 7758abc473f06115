package text

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Table has text in the first Left columns and figures in the others. The first column names
// the row. Label names the table in a page and is unique there.
type Table struct {
	Label string
	Head  []string
	Left  int
	Rows  [][]Cell
}

// A Cell is a cell of a table. Class is its look in a page, and Link the target of a click there, "" for
// none.
type Cell struct {
	Text, Class, Link string
	ink               ink // on a terminal
}

// Class returns the class of a column's heading.
func (t *Table) Class(column int) string {
	if column < t.Left {
		return "text"
	}
	return ""
}

// Add adds a row.
func (t *Table) Add(cells ...string) {
	row := make([]Cell, len(cells))
	for i, text := range cells {
		row[i] = Cell{Text: text, Class: t.Class(i)}
	}
	t.Rows = append(t.Rows, row)
}

// last returns a cell of the last row.
func (t *Table) last(column int) *Cell { return &t.Rows[len(t.Rows)-1][column] }

// judge gives a cell of the last row the colour of a verdict.
func (t *Table) judge(column int, v stat.Verdict) {
	c, look := t.last(column), verdictLooks[v]
	c.Class, c.ink = strings.TrimSpace(c.Class+" "+look.class), look.ink
}

// A look is the class of a verdict in a page and its colour on a terminal; its text says the same.
type look struct {
	class string
	ink   ink
}

var verdictLooks = map[stat.Verdict]look{
	stat.Better: {"better", green}, stat.Worse: {"worse", red}, stat.NoDifference: {"undecided", dim},
	stat.Inconclusive: {"undecided", yellow}, stat.Disagreement: {"undecided", yellow},
}

// only returns a table of some of the columns.
func (t *Table) only(columns ...int) *Table {
	out := &Table{}
	for _, c := range columns {
		if c < t.Left && out.Left == len(out.Head) {
			out.Left++
		}
		out.Head = append(out.Head, t.Head[c])
	}
	for _, row := range t.Rows {
		var cells []Cell
		for _, c := range columns {
			cells = append(cells, row[c])
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// FigureTable has a row for each configuration and a column for each metric.
func (s *Section) FigureTable(metrics []string) *Table {
	t := &Table{Label: "All figures, " + s.Name, Left: 1, Head: []string{"configuration"}}
	for _, metric := range metrics {
		t.Head = append(t.Head, Heading(metric))
	}
	for _, r := range s.Rows {
		cells := []string{r.Label}
		for _, metric := range metrics {
			cells = append(cells, r.Figure(metric).String())
		}
		t.Add(cells...)
		for i, metric := range metrics {
			if c, ok := s.Compared(r, metric); ok && decided(c) {
				t.last(i + 1).ink = verdictLooks[c.Verdict].ink
			}
		}
	}
	return t
}

// decided reports whether a comparison has something to say.
func decided(c stat.Comparison) bool {
	return c.Verdict == stat.Better || c.Verdict == stat.Worse || c.Verdict == stat.Disagreement
}

// comparisonHead are the columns of a comparison after its name and the metric.
var comparisonHead = []string{"verdict", "baseline", "here", "ratio", "95 % interval", "p", "pairs"}

// addComparison adds a row: its names, the verdict, the figures behind it, and more at the end.
func (s *Section) addComparison(t *Table, c stat.Comparison, names []string, more ...string) {
	t.Add(slices.Concat(names, []string{string(c.Verdict), s.Format(c.Metric, c.AValue), s.Format(c.Metric, c.BValue),
		Ratio(c.Ratio), Interval(c.Lo, c.Hi), PValue(c.P), fmt.Sprint(c.Pairs)}, more)...)
	t.judge(len(names), c.Verdict)
	t.last(len(t.Head) - 1).Class = "text why"
}

// ComparisonTable has a row for each comparison with the reason for its verdict.
func (s *Section) ComparisonTable(all []stat.Comparison) *Table {
	t := &Table{Label: "Comparisons, " + s.Name, Left: 3,
		Head: slices.Concat([]string{"configuration", "metric"}, comparisonHead, []string{"noise floor", "why"})}
	for _, c := range all {
		s.addComparison(t, c, []string{s.LabelOf(c), Heading(c.Metric)}, Ratio(c.Floor),
			Clean(strings.Join(append([]string{c.Reason}, c.Warnings...), "; ")))
	}
	return t
}

// MachineTable has the results of each machine below those of all.
func (s *Section) MachineTable(all []stat.Comparison) *Table {
	t := &Table{Label: "By machine, " + s.Name, Left: 4,
		Head: slices.Concat([]string{"configuration", "metric", "machine"}, comparisonHead, []string{"why"})}
	for _, c := range all {
		names := []string{s.LabelOf(c), Heading(c.Metric)}
		s.addComparison(t, c, append(names, "all"), Clean(c.Heterogeneity.Text))
		for _, m := range c.Machines {
			s.addComparison(t, m.Comparison, append(names, Clean(m.Machine.Name)), Clean(m.Reason))
		}
	}
	return t
}

// A Grid is the primary metric by all other factors (rows) and GC setting (columns).
type Grid struct {
	section *Section
	GCs     []string
	Rests   []string
	Cells   map[[2]string]*Row // by rest and gc
}

// Grid arranges the section's rows by GC setting. ok is false unless the GC
// setting and something else vary.
func (s *Section) Grid() (g *Grid, ok bool) {
	g = &Grid{section: s, Cells: map[[2]string]*Row{}}
	for _, r := range s.Rows {
		if !slices.Contains(g.GCs, r.GC) {
			g.GCs = append(g.GCs, r.GC)
		}
		if !slices.Contains(g.Rests, r.Rest) {
			g.Rests = append(g.Rests, r.Rest)
		}
		g.Cells[[2]string{r.Rest, r.GC}] = r
	}
	return g, len(g.GCs) > 1 && len(g.Rests) > 1
}

// RowName says what the rows are.
func (g *Grid) RowName() string {
	if _, ok := g.section.Baseline().Config.Factor("strategy"); ok {
		return "Strategy"
	}
	return "Configuration"
}

// Table has the figures with their ratios to the baseline; in full, also with intervals and verdicts,
// each on a line of its own.
func (g *Grid) Table(full bool) *Table {
	metric := g.section.Primary()
	t := &Table{Label: "Table of " + Heading(metric) + ", " + g.section.Name, Left: 1, Head: []string{g.RowName()}}
	for _, gc := range g.GCs {
		t.Head = append(t.Head, "gc="+gc)
	}
	for _, rest := range g.Rests {
		t.Add(append([]string{rest}, slices.Repeat([]string{Absent}, len(g.GCs))...)...)
		for i, gc := range g.GCs {
			r := g.Cells[[2]string{rest, gc}]
			if r == nil {
				continue
			}
			t.last(i + 1).Text = r.Figure(metric).String()
			if c, ok := g.section.Compared(r, metric); ok {
				switch {
				case !full:
					t.last(i + 1).Text += " " + Ratio(c.Ratio)
				case !math.IsNaN(c.Ratio):
					t.last(i + 1).Text += "\n" + Ratio(c.Ratio) + " " + Interval(c.Lo, c.Hi) + "\n" + string(c.Verdict)
				default:
					t.last(i + 1).Text += "\n" + string(c.Verdict)
				}
				t.judge(i+1, c.Verdict)
			}
		}
	}
	return t
}

// PhaseTable says what the collector did during the slowest operations; empty without a trace.
func (s *Section) PhaseTable() *Table {
	t := &Table{Label: "What the collector did during the slowest operations, " + s.Name, Left: 2,
		Head: append([]string{"configuration"}, phaseHead...)}
	for _, r := range s.Rows {
		if sum := r.Phases(); sum != nil {
			t.addPhases(sum, r.Label)
		}
	}
	return t
}

var phaseHead = []string{"phase of the collector", "operations", "share", "by chance", "share of time"}

// addPhases adds a row for each phase that has time or operations.
func (t *Table) addPhases(p *cell.Phases, names ...string) {
	for _, row := range p.Rows {
		if row.Ops > 0 || row.TimeNs > 0 {
			t.Add(append(slices.Clip(names), Clean(row.Phase), fmt.Sprint(row.Ops), share(float64(row.Ops), float64(p.Ops)),
				share(row.Chance, float64(p.Ops)), share(float64(row.TimeNs), float64(p.WindowNs)))...)
		}
	}
}

// marked reports whether a figure of the table is a range instead of an
// interval.
func (t *Table) marked() bool {
	return slices.ContainsFunc(t.Rows, func(row []Cell) bool {
		return slices.ContainsFunc(row[t.Left:], func(c Cell) bool { return strings.Contains(c.Text, "%*") })
	})
}

const gutter = 2

// table prints a table, in as many parts as the width requires: each has the first column again.
func (p *terminal) table(t *Table) {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, row := range t.Rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	// A name may take half of the page, which leaves room for figures.
	widths[0] = min(widths[0], max(12, p.style.width()/2))
	for first := 1; first < len(t.Head) || first == 1; {
		end, used := first, widths[0]
		for end < len(t.Head) && (end == first || used+gutter+widths[end] <= p.style.width()) {
			used += gutter + widths[end]
			end++
		}
		p.columns(t, widths, first, end)
		first = max(end, first+1)
	}
}

// columns prints the first column of a table and those from first to end.
func (p *terminal) columns(t *Table, widths []int, first, end int) {
	write := func(row []Cell) {
		var line strings.Builder
		for i, c := range row {
			if i > 0 && (i < first || i >= end) {
				continue
			}
			text := c.Text
			if i == 0 {
				text = Shorten(text, widths[0])
			} else {
				line.WriteString(strings.Repeat(" ", gutter))
			}
			fill := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if i < t.Left {
				line.WriteString(p.paint(c.ink, text) + fill)
			} else {
				line.WriteString(fill + p.paint(c.ink, text))
			}
		}
		p.WriteString(strings.TrimRight(line.String(), " "))
		p.WriteByte('\n')
	}
	head := make([]Cell, len(t.Head))
	for i, h := range t.Head {
		head[i] = Cell{Text: h, ink: dim}
	}
	write(head)
	for _, row := range t.Rows {
		write(row)
	}
}
