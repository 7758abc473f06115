package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// against prints every level of a factor beside one of them, for each
// combination of the other factors that vary in the run.
func (t *table) against(out io.Writer, factor, base string) error {
	of, err := t.column(factor)
	if err != nil {
		return err
	}
	others := t.varying(factor)
	all, err := t.values(of, others)
	if err != nil {
		return err
	}
	names := make([]string, len(others))
	for i, o := range others {
		names[i] = t.head[o]
	}
	fmt.Fprintf(out, "| %s | %s | interval | ratio to %s | interval | verdict |\n",
		strings.Join(append(names, factor), " | "), t.metric, base)
	fmt.Fprintf(out, "|%s ---: | --- | ---: | --- | --- |\n", strings.Repeat(" --- |", len(others)+1))
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b place) int {
		return strings.Compare(a.others+a.level, b.others+b.level)
	}) {
		bases := all[place{at.others, base}]
		if bases == nil {
			return fmt.Errorf("%s is never %s where %s", factor, base, at.others)
		}
		cells := append(strings.Split(at.others, "\x00")[:len(others)], at.level)
		s := stat.Summarize(all[at].series())
		fmt.Fprintf(out, "| %s | %.4g | [%.4g, %.4g] |", strings.Join(cells, " | "), s.Median, s.Lo, s.Hi)
		if at.level == base {
			fmt.Fprintf(out, " | | |\n")
			continue
		}
		c := t.compare(bases, all[at])
		fmt.Fprintf(out, " %.3g | [%.3g, %.3g] | %s |\n", c.Ratio, c.Lo, c.Hi, c.Verdict)
	}
	return nil
}

// varying returns the columns of the factors, other than factor, with more than
// one level. The second run of the baseline in a block is no factor.
func (t *table) varying(factor string) (columns []int) {
	for i := slices.Index(t.head, "key") + 1; i < slices.Index(t.head, "failure"); i++ {
		if t.head[i] != factor && t.head[i] != "twin" &&
			slices.ContainsFunc(t.rows, func(r []string) bool { return r[i] != t.rows[0][i] }) {
			columns = append(columns, i)
		}
	}
	return columns
}
