package page

import (
	"fmt"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// figuresTable shows every metric of every row; it is empty without metrics.
func figuresTable(s *text.Section) *text.Table {
	var metrics []string
	for _, theme := range s.Themes() {
		metrics = append(metrics, theme.Metrics...)
	}
	if len(metrics) == 0 {
		return &text.Table{}
	}
	return s.FigureTable(metrics)
}

// floorsTable shows how much two equal configurations differed.
func floorsTable(s *text.Section) *text.Table {
	t := &text.Table{Label: "Noise floor, " + s.Name, Left: 1,
		Head: []string{"metric", "first", "second", "ratio", "95 % interval", "pairs"}}
	for _, c := range s.Floors {
		t.Add(text.Heading(c.Metric), s.Format(c.Metric, c.AValue), s.Format(c.Metric, c.BValue), text.Ratio(c.Ratio),
			text.Interval(c.Lo, c.Hi), strconv.Itoa(c.Pairs))
	}
	return t
}

// tableRows is the maximum number of rows in the table by machine. A large fleet could
// produce hundreds of thousands.
const tableRows = 1500

// byMachineTable shows the comparisons on every machine, if several measured. If those are too
// many rows, it has as many as fit of the comparisons with a verdict or with disagreeing machines.
func byMachineTable(s *text.Section) *text.Table {
	var all, shown []stat.Comparison
	rows := 0
	for _, c := range s.Comparisons {
		if c.Heterogeneity != nil {
			all, rows = append(all, c), rows+1+len(c.Machines)
		}
	}
	if rows <= tableRows {
		return s.MachineTable(all)
	}
	rows = 0
	for _, c := range all {
		if text.Telling(c) && rows+1+len(c.Machines) <= tableRows {
			shown, rows = append(shown, c), rows+1+len(c.Machines)
		}
	}
	t := s.MachineTable(shown)
	t.Add(append([]string{fmt.Sprintf("%s without a difference, or beyond %d rows: isobar lab show --json has all",
		text.Plural(len(all)-len(shown), "comparison"), tableRows)}, make([]string, len(t.Head)-1)...)...)
	return t
}
