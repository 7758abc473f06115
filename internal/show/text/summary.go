package text

import (
	"io"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A summary fits on one screen: these bound its findings, warnings and table
// lines. [Report] has the rest.
const (
	summaryFindings = 8
	summaryWarnings = 3
	summaryLines    = 24
	// gridRows is the number of configurations above which a section becomes a
	// grid of one metric.
	gridRows = 8
)

// Summary prints what a user wants to know after a run: the findings, the headline figures,
// and the most common warnings.
func Summary(w io.Writer, m cell.Run, a *stat.Analysis, s Style) error {
	p := &terminal{style: s}
	p.header(Measured(m, a), Several(a))
	p.findings(a.Findings, summaryFindings)
	left, hidden, marked := summaryLines, 0, false
	for _, sec := range Sections(a) {
		if sec.Baseline().Config.Study != "" {
			left = summaryLines // a user who runs many small cases wants to see each
		}
		table, subtitle := sec.headline(), "baseline "+sec.Baseline().Label
		if grid, ok := sec.Grid(); ok && len(sec.Rows) > gridRows {
			table, subtitle = grid.Table(false), Heading(sec.Primary())+" and its ratio to "+sec.Baseline().Label
		}
		need := len(table.Rows) + 2
		if need > left {
			keep := max(0, left-2)
			hidden += len(table.Rows) - keep
			table.Rows = table.Rows[:keep]
		}
		if len(table.Rows) == 0 {
			continue
		}
		left -= len(table.Rows) + 2
		p.title(sec.Name + ", " + subtitle)
		p.table(table)
		marked = marked || table.marked()
	}
	p.rangeNote(marked)
	p.exercises(a)
	if hidden > 0 {
		p.line(dim, "and %s more", Plural(hidden, "row"))
	}
	p.warnings(a, summaryWarnings)
	return p.flush(w)
}

// exercises says where to find the code of the measured exercises.
func (p *terminal) exercises(a *stat.Analysis) {
	name := ""
	for _, s := range Sections(a) {
		for _, e := range s.Exercises() {
			if name != "" {
				name = "NAME"
				break
			}
			name = e.Name
		}
	}
	if name != "" {
		p.line(dim, "code before and after, trade-offs, when not: isobar advise checks %s", name)
	}
}

// headline is the table of the most important metrics.
func (s *Section) headline() *Table {
	metrics := []string{s.Primary()}
	tail := stat.LatencyMetric(cell.HistResponse, "p99.9")
	if !s.Has(tail) {
		tail = stat.LatencyMetric(cell.HistService, "p99.9")
	}
	others := []string{tail, cell.GCCPUShare, cell.RSSPeak}
	switch {
	case s.Has(cell.Scheduled): // show losses before the latency of the rest
		others = append([]string{cell.Scheduled, cell.Done, cell.Dropped}, others...)
	case s.counts():
		others = append(s.answers(), s.tries()...)
	}
	if s.Baseline().Config.Study != "" { // a small case: the cost of one operation
		others = []string{cell.OpBytes, cell.OpAllocs, cell.GCCPUShare}
	}
	for _, metric := range others {
		if s.Has(metric) && !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
	}
	return s.FigureTable(metrics)
}
