package report

import (
	"io"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A summary fits one screen: so many findings and warnings, and so many lines
// of tables. [Text] has the rest.
const (
	summaryFindings = 8
	summaryWarnings = 3
	summaryLines    = 24
	// gridRows is the number of configurations above which a section is shown
	// as a grid of one metric.
	gridRows = 8
)

// Summary prints what a person wants to know when a run is over: what was
// found, the headline figures, and the most common warnings.
func Summary(w io.Writer, m Meta, a *stat.Analysis, s Style) error {
	p := &page{style: s}
	p.header(measured(m, a), several(a))
	p.findings(a.Findings, summaryFindings)
	left, hidden, marked := summaryLines, 0, false
	for _, sec := range sections(a) {
		if sec.baseline().Config.Study != "" {
			left = summaryLines // who asks for many small cases wants to see each
		}
		table, subtitle := sec.headline(), "baseline "+sec.baseline().label
		if grid, ok := sec.grid(); ok && len(sec.rows) > gridRows {
			table, subtitle = grid.terminal(), heading(sec.primary())+" and its ratio to "+sec.baseline().label
		}
		need := len(table.rows) + 2
		if need > left {
			keep := max(0, left-2)
			hidden += len(table.rows) - keep
			table.rows = table.rows[:keep]
		}
		if len(table.rows) == 0 {
			continue
		}
		left -= len(table.rows) + 2
		p.title(sec.name + ", " + subtitle)
		table.print(p)
		marked = marked || table.marked()
	}
	p.rangeNote(marked)
	if hidden > 0 {
		p.line(dim, "and %s more", plural(hidden, "row"))
	}
	p.warnings(a, summaryWarnings)
	return p.flush(w)
}

// headline is the table of the few metrics that matter most.
func (s *section) headline() *terminalTable {
	metrics := []string{s.primary()}
	tail := stat.LatencyMetric(cell.HistResponse, "p99.9")
	if !s.has(tail) {
		tail = stat.LatencyMetric(cell.HistService, "p99.9")
	}
	others := []string{tail, cell.GCCPUShare, cell.RSSPeak}
	if s.baseline().Config.Study != "" { // a small case: what one operation takes
		others = []string{cell.OpBytes, cell.OpAllocs, cell.GCCPUShare}
	}
	for _, metric := range others {
		if s.has(metric) && !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
	}
	table := &terminalTable{head: []string{"configuration"}, left: 1}
	for _, metric := range metrics {
		table.head = append(table.head, heading(metric))
	}
	for _, r := range s.rows {
		cells := []entry{{r.label, plainInk}}
		for _, metric := range metrics {
			i := plainInk
			if c, ok := s.compared(r, metric); ok && (c.Verdict == stat.Better || c.Verdict == stat.Worse || c.Verdict == stat.Disagreement) {
				i = verdictInk(c.Verdict)
			}
			cells = append(cells, entry{r.figure(metric).String(), i})
		}
		table.add(cells...)
	}
	return table
}

// A grid is the primary metric by all other factors (rows) and GC setting
// (columns).
type grid struct {
	section *section
	metric  string
	gcs     []string
	rests   []string
	cells   map[[2]string]*row // by rest and gc
}

// grid arranges the section's rows by GC setting. ok is false unless the GC
// setting and something else vary.
func (s *section) grid() (g *grid, ok bool) {
	g = &grid{section: s, metric: s.primary(), cells: map[[2]string]*row{}}
	for _, r := range s.rows {
		if !slices.Contains(g.gcs, r.gc) {
			g.gcs = append(g.gcs, r.gc)
		}
		if !slices.Contains(g.rests, r.rest) {
			g.rests = append(g.rests, r.rest)
		}
		g.cells[[2]string{r.rest, r.gc}] = r
	}
	return g, len(g.gcs) > 1 && len(g.rests) > 1
}

func (g *grid) terminal() *terminalTable {
	table := &terminalTable{head: []string{"GC setting"}, left: 1}
	table.head = append(table.head, g.gcs...)
	for _, rest := range g.rests {
		cells := []entry{{rest, plainInk}}
		for _, gc := range g.gcs {
			r := g.cells[[2]string{rest, gc}]
			if r == nil {
				cells = append(cells, entry{absent, dim})
				continue
			}
			text, look := r.figure(g.metric).String(), plainInk
			if c, ok := g.section.compared(r, g.metric); ok {
				text, look = text+" "+ratioText(c.Ratio), verdictInk(c.Verdict)
			}
			cells = append(cells, entry{text, look})
		}
		table.add(cells...)
	}
	return table
}
