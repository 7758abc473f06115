package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// NewComparison returns the page that compares run b with run a. onlyA and onlyB are the
// keys of configurations that the other run lacks.
func NewComparison(a, b cell.Run, comparisons []stat.Comparison, onlyA, onlyB []string, v View) *Page {
	p := &Page{Sheet: Sheet{Name: fmt.Sprintf("Run %d against run %d", b.ID, a.ID)},
		Verdicts: cmp.Or(text.VerdictCounts(comparisons),
			"The two runs have no configuration in common: there is nothing to compare.")}
	p.List(true, "verdicts", "Verdicts")
	for _, side := range []struct {
		name string
		m    cell.Run
		only []string
	}{{"A", a, onlyA}, {"B", b, onlyB}} {
		p.Facts = append(p.Facts, Fact{side.name, fmt.Sprintf("%s, %s, %s", text.RunName(side.m), text.RunWhen(side.m),
			text.RunProgress(side.m))})
		for _, key := range side.only {
			p.OnlyIn = append(p.OnlyIn, Fact{fmt.Sprintf("Only in run %d", side.m.ID), text.Clean(key)})
		}
	}
	if (a.Machine.Hostname == "") != (b.Machine.Hostname == "") {
		p.Facts = append(p.Facts, Fact{"Machines", "one run's machine is unknown: differences may come from the machines"})
	}
	pairs := stat.Split(comparisons, text.PairName)
	names, common := short(pairs)
	if common != "" {
		p.Facts = append(p.Facts, Fact{"All with", common})
	}
	for i, pair := range pairs {
		s := &text.Section{Name: names[i], Comparisons: pair}
		s.SetExact(v.Exact)
		h := section{ID: sectionID(i), Name: s.Name}
		h.addComparisons("All metrics", s)
		h.Plots = drawn(s.Name, plot.Ratios(s, h.ID))
		p.Sections = append(p.Sections, h)
		p.List(true, h.ID, h.Name)
	}
	p.List(true, "reading", "How to read this")
	return p
}

// short returns the names of the pairs without the parameters that all have in common, and these.
func short(pairs [][]stat.Comparison) (names []string, common string) {
	var parts [][]string
	for _, pair := range pairs {
		names = append(names, text.PairName(pair[0]))
		parts = append(parts, strings.Split(names[len(names)-1], "/"))
	}
	if len(pairs) < 2 || slices.ContainsFunc(parts, func(p []string) bool { return len(p) != len(parts[0]) }) {
		return names, ""
	}
	var shared []string
	short := make([][]string, len(pairs))
	for i, part := range parts[0] {
		if i > 0 && !slices.ContainsFunc(parts, func(p []string) bool { return p[i] != part }) {
			shared = append(shared, part)
			continue
		}
		for k := range short {
			short[k] = append(short[k], parts[k][i])
		}
	}
	for k := range names {
		names[k] = strings.Join(short[k], " ")
	}
	return names, strings.Join(shared, " ")
}
