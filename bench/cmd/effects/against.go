package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// against prints every level of a factor beside one of them, for each
// combination of the other factors that vary in the run.
func against(in io.Reader, out io.Writer, metric, factor, base string) error {
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil || len(rows) == 0 {
		return fmt.Errorf("read the export: %w", err)
	}
	head, rows := rows[0], rows[1:]
	of := slices.Index(head, factor)
	if of < 0 {
		return fmt.Errorf("no column %s in the export, which has: %s", factor, strings.Join(head, ", "))
	}
	others := varying(head, rows, factor)
	groups, order, err := group(head, rows, metric, of, others)
	if err != nil {
		return err
	}
	names := make([]string, len(others))
	for i, o := range others {
		names[i] = head[o]
	}
	fmt.Fprintf(out, "| %s | %s | interval | ratio to %s | interval | verdict |\n",
		strings.Join(append(names, factor), " | "), metric, base)
	fmt.Fprintf(out, "|%s ---: | --- | ---: | --- | --- |\n", strings.Repeat(" --- |", len(others)+1))
	for _, rest := range order {
		levels := groups[rest]
		if levels[base] == nil {
			return fmt.Errorf("%s is never %s where %s", factor, base, rest)
		}
		for _, level := range slices.Sorted(maps.Keys(levels)) {
			cells := append(strings.Split(rest, "\x00")[:len(others)], level)
			s := stat.Summarize(levels[level].Series[metric])
			fmt.Fprintf(out, "| %s | %.4g | [%.4g, %.4g] |", strings.Join(cells, " | "), s.Median, s.Lo, s.Hi)
			if level == base {
				fmt.Fprintf(out, " | | |\n")
				continue
			}
			c := stat.Compare(levels[base], levels[level], metric, 1)
			fmt.Fprintf(out, " %.3g | [%.3g, %.3g] | %s |\n", c.Ratio, c.Lo, c.Hi, c.Verdict)
		}
	}
	return nil
}

// varying returns the columns of the factors, other than factor, with more than
// one level. The second run of the baseline in a block is no factor.
func varying(head []string, rows [][]string, factor string) []int {
	var columns []int
	for i := slices.Index(head, "key") + 1; i < slices.Index(head, "failure"); i++ {
		if head[i] != factor && head[i] != "twin" &&
			slices.ContainsFunc(rows, func(r []string) bool { return r[i] != rows[0][i] }) {
			columns = append(columns, i)
		}
	}
	return columns
}

// group collects the values of a metric by the levels of the others and then by
// that of the factor. A baseline that ran twice in a block counts with its mean.
func group(head []string, rows [][]string, metric string, of int,
	others []int) (groups map[string]map[string]*stat.Group, order []string, err error) {
	column := func(name string) int { return slices.Index(head, name) }
	seen := map[[3]string][]float64{}
	groups = map[string]map[string]*stat.Group{}
	for _, row := range rows {
		if f := row[column("failure")]; f != "" {
			return nil, nil, fmt.Errorf("a cell failed: %s", f)
		}
		if row[column("metric")] != metric {
			continue
		}
		rest := ""
		for _, o := range others {
			rest += row[o] + "\x00"
		}
		v, err := strconv.ParseFloat(row[column("value")], 64)
		if err != nil {
			return nil, nil, err
		}
		block, err := strconv.Atoi(row[column("block")])
		if err != nil {
			return nil, nil, err
		}
		if groups[rest] == nil {
			groups[rest] = map[string]*stat.Group{}
			order = append(order, rest)
		}
		g := groups[rest][row[of]]
		if g == nil {
			g = &stat.Group{Key: row[of], Series: map[string]stat.Series{metric: {Metric: metric}}}
			groups[rest][row[of]] = g
		}
		id := [3]string{rest, row[of], row[column("block")]}
		seen[id] = append(seen[id], v)
		s := g.Series[metric]
		if at := slices.Index(s.Blocks, block); at >= 0 {
			s.Values[at], _ = mean(seen[id])
		} else {
			s.Blocks, s.Values = append(s.Blocks, block), append(s.Values, v)
		}
		g.Series[metric] = s
	}
	if len(groups) == 0 {
		return nil, nil, fmt.Errorf("no values: is the metric %s in the run?", metric)
	}
	slices.Sort(order)
	return groups, order, nil
}
