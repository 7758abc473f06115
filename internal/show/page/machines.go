package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// machinesTable describes the machines; nil if there is only one.
func machinesTable(all []*stat.Machine) *plot.Table {
	if all == nil {
		return nil
	}
	t := &plot.Table{Label: "Machines that measured", Left: 6,
		Head: []string{"Machine", "CPU", "System", "Kernel", "Go", "Host (digest)", "CPUs", "memory", "blocks", "cells"}}
	for _, m := range all {
		f := m.Fingerprint
		t.Add(text.Clean(m.Name), text.Clean(f.CPU), text.Clean(strings.Trim(f.OS+"/"+f.Arch, "/")), text.Clean(f.Kernel),
			text.Clean(f.GoVersion), text.Clean(f.Hostname),
			strconv.Itoa(f.CPUs), text.Bytes(float64(f.MemoryBytes)), strconv.Itoa(len(m.Blocks)), strconv.Itoa(m.Records))
	}
	return t
}

// tableRows is the maximum number of rows in the table by machine. A large fleet could
// produce hundreds of thousands.
const tableRows = 1500

// shownByMachine chooses the comparisons for the table by machine: all of them or, if those
// are too many, as many as fit of those with a verdict or with disagreeing machines. left
// is the number left out.
func shownByMachine(s *text.Section) (shown []stat.Comparison, left int) {
	rows := 0
	var all []stat.Comparison
	for _, c := range s.Comparisons {
		if c.Heterogeneity != nil {
			all, rows = append(all, c), rows+1+len(c.Machines)
		}
	}
	if rows <= tableRows {
		return all, 0
	}
	rows = 0
	for _, c := range all {
		if h := c.Heterogeneity; (h.Differ || c.Verdict == stat.Better || c.Verdict == stat.Worse) &&
			rows+1+len(c.Machines) <= tableRows {
			shown, rows = append(shown, c), rows+1+len(c.Machines)
		}
	}
	return shown, len(all) - len(shown)
}

// byMachineTable shows the comparisons on every machine, if several measured.
func byMachineTable(s *text.Section) *plot.Table {
	t := &plot.Table{Label: "By machine, " + s.Name, Left: 4,
		Head: []string{"Configuration", "Metric", "Machine", "Verdict", "baseline", "here", "ratio", "95 % interval", "p",
			"pairs", "why"}}
	shown, left := shownByMachine(s)
	for _, c := range shown {
		add := func(machine string, c stat.Comparison, why string) {
			cells := append([]string{s.LabelOf(c), text.Heading(c.Metric), machine}, comparisonCells(s, c)...)
			addVerdict(t, c.Verdict, append(cells, why)...)
		}
		add("all", c, c.Heterogeneity.Text)
		for _, m := range c.Machines {
			add(text.Clean(m.Machine.Name), m.Comparison, m.Reason)
		}
	}
	if left > 0 {
		t.Add(fmt.Sprintf("%s without a difference, or beyond %d rows: isobar lab show --json has all",
			text.Plural(left, "comparison"), tableRows), "", "", "", "", "", "", "", "", "", "")
	}
	return t
}
