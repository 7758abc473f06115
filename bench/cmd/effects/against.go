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
func (e *table) against(out io.Writer, factor, base string) error {
	of, err := e.column(factor)
	if err != nil {
		return err
	}
	others := e.varying(factor)
	type place struct{ rest, level string }
	all, err := values(e, func(row []string) (place, error) {
		rest := ""
		for _, o := range others {
			rest += row[o] + "\x00"
		}
		return place{rest, row[of]}, nil
	})
	if err != nil {
		return err
	}
	names := make([]string, len(others))
	for i, o := range others {
		names[i] = e.head[o]
	}
	fmt.Fprintf(out, "| %s | %s | interval | ratio to %s | interval | verdict |\n",
		strings.Join(append(names, factor), " | "), e.metric, base)
	fmt.Fprintf(out, "|%s ---: | --- | ---: | --- | --- |\n", strings.Repeat(" --- |", len(others)+1))
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b place) int {
		return strings.Compare(a.rest+a.level, b.rest+b.level)
	}) {
		bases := all[place{at.rest, base}]
		if bases == nil {
			return fmt.Errorf("%s is never %s where %s", factor, base, at.rest)
		}
		cells := append(strings.Split(at.rest, "\x00")[:len(others)], at.level)
		s := stat.Summarize(all[at].series())
		fmt.Fprintf(out, "| %s | %.4g | [%.4g, %.4g] |", strings.Join(cells, " | "), s.Median, s.Lo, s.Hi)
		if at.level == base {
			fmt.Fprintf(out, " | | |\n")
			continue
		}
		c := e.compare(bases, all[at])
		fmt.Fprintf(out, " %.3g | [%.3g, %.3g] | %s |\n", c.Ratio, c.Lo, c.Hi, c.Verdict)
	}
	return nil
}

// varying returns the columns of the factors, other than factor, with more than
// one level. The second run of the baseline in a block is no factor.
func (e *table) varying(factor string) (columns []int) {
	for i := slices.Index(e.head, "key") + 1; i < slices.Index(e.head, "failure"); i++ {
		if e.head[i] != factor && e.head[i] != "twin" &&
			slices.ContainsFunc(e.rows, func(r []string) bool { return r[i] != e.rows[0][i] }) {
			columns = append(columns, i)
		}
	}
	return columns
}
