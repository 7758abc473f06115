// Effects reads a run of the lab, as 'isobar lab export --format csv' writes
// it, and prints what each of several switches does to one metric: the main
// effects of a factorial experiment.
//
// A switch is a factor with the levels off and on. Within a block, each
// configuration with the switch on is set against the one that differs in
// nothing else; the effect in the block is the geometric mean of these ratios,
// and the mean of the differences. Over blocks package stat gives median,
// interval and verdict, as for every comparison of the lab. The columns least
// and most are the medians of the single pairs: far from each other, the
// effect of the switch depends on the other switches.
//
// With -against FACTOR=LEVEL it prints each level of a factor beside that one
// instead, for every combination of the other factors that vary in the run.
//
// Usage:
//
//	isobar lab export --format csv RUN | go run ./cmd/effects [-metric NAME] [-where FACTOR=LEVEL,...] SWITCH ...
//	isobar lab export --format csv RUN | go run ./cmd/effects [-metric NAME] -against FACTOR=LEVEL
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "effects: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("effects", flag.ContinueOnError)
	metric := flags.String("metric", "/op/time:ns", "the metric")
	where := flags.String("where", "", "only cells with these levels of other factors: FACTOR=LEVEL,...")
	versus := flags.String("against", "", "print the levels of a factor beside this one: FACTOR=LEVEL")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if factor, base, ok := strings.Cut(*versus, "="); ok {
		return against(in, out, *metric, factor, base)
	}
	switches := flags.Args()
	if len(switches) == 0 {
		return fmt.Errorf("no switches: name the factors with the levels on and off, or one with -against FACTOR=LEVEL")
	}
	cells, err := read(in, *metric, *where, switches)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| switch | ratio on/off | interval | difference in %s | interval | least | most | verdict |\n",
		*metric)
	fmt.Fprintf(out, "| --- | ---: | --- | ---: | --- | ---: | ---: | --- |\n")
	for i, name := range switches {
		e, err := effectOf(cells, i)
		if err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
		fmt.Fprintf(out, "| %s | %.3g | [%.3g, %.3g] | %+.3g | [%+.3g, %+.3g] | %.3g | %.3g | %s |\n",
			name, e.c.Ratio, e.c.Lo, e.c.Hi, e.difference.Median, e.difference.Lo, e.difference.Hi, e.least, e.most, e.c.Verdict)
	}
	return nil
}

// A point is a combination of levels: bit i is set where switch i is on.
type point uint

// cells holds values by point and block. A baseline that ran twice in a block
// counts with its mean.
type cells map[point]map[int][]float64

func read(in io.Reader, metric, where string, switches []string) (cells, error) {
	rows := csv.NewReader(in)
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	for _, name := range append([]string{"block", "failure", "metric", "value"}, switches...) {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("no column %s in the export, which has: %s", name, strings.Join(head, ", "))
		}
	}
	levels := map[string]string{}
	for _, condition := range strings.Split(where, ",") {
		if condition == "" {
			continue
		}
		name, level, ok := strings.Cut(condition, "=")
		if _, known := column[name]; !ok || !known {
			return nil, fmt.Errorf("-where %q: want FACTOR=LEVEL of the columns %s", condition, strings.Join(head, ", "))
		}
		levels[name] = level
	}
	all := cells{}
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		if row[column["failure"]] != "" {
			return nil, fmt.Errorf("a cell failed (%s): a factorial needs all", row[column["failure"]])
		}
		match := row[column["metric"]] == metric
		for name, level := range levels {
			match = match && row[column[name]] == level
		}
		if !match {
			continue
		}
		if err := all.add(row, column, switches); err != nil {
			return nil, err
		}
	}
}

func (all cells) add(row []string, column map[string]int, switches []string) error {
	var p point
	for i, name := range switches {
		switch level := row[column[name]]; level {
		case "on":
			p |= 1 << i
		case "off":
		default:
			return fmt.Errorf("%s has the level %q: want on and off", name, level)
		}
	}
	block, err := strconv.Atoi(row[column["block"]])
	if err != nil {
		return err
	}
	value, err := strconv.ParseFloat(row[column["value"]], 64)
	if err != nil {
		return err
	}
	if all[p] == nil {
		all[p] = map[int][]float64{}
	}
	all[p][block] = append(all[p][block], value)
	return nil
}

type effect struct {
	c           stat.Comparison
	difference  stat.Summary
	least, most float64
}

func effectOf(all cells, i int) (effect, error) {
	off, on := &stat.Group{Key: "off"}, &stat.Group{Key: "on"}
	var offs, ons, differences stat.Series
	pairs := map[point][]float64{}
	for _, block := range blocks(all) {
		logOff, logOn, difference, n := 0.0, 0.0, 0.0, 0
		for p := range all {
			if p>>i&1 == 1 {
				continue
			}
			a, ok1 := mean(all[p][block])
			b, ok2 := mean(all[p|1<<i][block])
			if !ok1 || !ok2 {
				return effect{}, fmt.Errorf("block %d lacks a configuration: the run is not a whole factorial of these switches",
					block)
			}
			logOff, logOn, difference, n = logOff+math.Log(a), logOn+math.Log(b), difference+b-a, n+1
			pairs[p] = append(pairs[p], b/a)
		}
		if n == 0 {
			return effect{}, fmt.Errorf("it is never off")
		}
		for s, v := range map[*stat.Series]float64{&offs: math.Exp(logOff / float64(n)), &ons: math.Exp(logOn / float64(n)),
			&differences: difference / float64(n)} {
			s.Blocks, s.Values = append(s.Blocks, block), append(s.Values, v)
		}
	}
	if len(pairs) == 0 {
		return effect{}, fmt.Errorf("no values: is the metric in the run?")
	}
	off.Series, on.Series = map[string]stat.Series{"m": offs}, map[string]stat.Series{"m": ons}
	e := effect{c: stat.Compare(off, on, "m", 1), difference: stat.Summarize(differences), least: math.Inf(1)}
	for _, ratios := range pairs {
		m := stat.Summarize(stat.Series{Values: ratios}).Median
		e.least, e.most = min(e.least, m), max(e.most, m)
	}
	return e, nil
}

func blocks(all cells) []int {
	seen := map[int]bool{}
	for _, by := range all {
		for block := range by {
			seen[block] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func mean(values []float64) (float64, bool) {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)), len(values) > 0
}
