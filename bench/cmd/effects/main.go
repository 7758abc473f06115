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
	factor, base, against := strings.Cut(*versus, "=")
	switches := flags.Args()
	if !against && len(switches) == 0 {
		return fmt.Errorf("no switches: name the factors with the levels on and off, or one with -against FACTOR=LEVEL")
	}
	e, err := read(in, *metric, *where)
	if err != nil {
		return err
	}
	if against {
		return e.against(out, factor, base)
	}
	return e.effects(out, switches)
}

// A table is what a run has of one metric: the columns and a row per sample.
type table struct {
	metric string
	head   []string
	rows   [][]string
}

func read(in io.Reader, metric, where string) (*table, error) {
	rows, err := csv.NewReader(in).ReadAll()
	if err == nil && len(rows) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	e := &table{metric: metric, head: rows[0]}
	for _, name := range []string{"block", "failure", "metric", "value"} {
		if _, err := e.column(name); err != nil {
			return nil, err
		}
	}
	levels := map[int]string{}
	for condition := range strings.SplitSeq("metric="+metric+","+where, ",") {
		if condition == "" {
			continue
		}
		name, level, ok := strings.Cut(condition, "=")
		at := slices.Index(e.head, name)
		if !ok || at < 0 {
			return nil, fmt.Errorf("-where %q: want FACTOR=LEVEL of the columns %s", condition, strings.Join(e.head, ", "))
		}
		levels[at] = level
	}
	for _, row := range rows[1:] {
		if f := row[slices.Index(e.head, "failure")]; f != "" {
			return nil, fmt.Errorf("a cell failed (%s): a comparison needs all", f)
		}
		match := true
		for at, level := range levels {
			match = match && row[at] == level
		}
		if match {
			e.rows = append(e.rows, row)
		}
	}
	if len(e.rows) == 0 {
		return nil, fmt.Errorf("no values: is the metric %s in the run?", metric)
	}
	return e, nil
}

// column returns where the named column is.
func (t *table) column(name string) (int, error) {
	at := slices.Index(t.head, name)
	if at < 0 {
		return 0, fmt.Errorf("no column %s in the export, which has: %s", name, strings.Join(t.head, ", "))
	}
	return at, nil
}

// A blocks holds a value for each block.
type blocks map[int]float64

func (b blocks) series() (s stat.Series) {
	for _, block := range slices.Sorted(maps.Keys(b)) {
		s.Blocks, s.Values = append(s.Blocks, block), append(s.Values, b[block])
	}
	return s
}

// compare sets b against a, which are values of the metric.
func (t *table) compare(a, b blocks) stat.Comparison {
	group := func(key string, of blocks) *stat.Group {
		return &stat.Group{Key: key, Series: map[string]stat.Series{t.metric: of.series()}}
	}
	return stat.Compare(group("a", a), group("b", b), t.metric, 1)
}

// values collects the values by key and block. A baseline that ran twice in a
// block counts with its mean.
func values[K comparable](e *table, key func(row []string) (K, error)) (map[K]blocks, error) {
	block, value := slices.Index(e.head, "block"), slices.Index(e.head, "value")
	all, counts := map[K]blocks{}, map[K]blocks{}
	for _, row := range e.rows {
		k, err := key(row)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(row[block])
		if err != nil {
			return nil, err
		}
		v, err := strconv.ParseFloat(row[value], 64)
		if err != nil {
			return nil, err
		}
		if all[k] == nil {
			all[k], counts[k] = blocks{}, blocks{}
		}
		counts[k][n]++
		all[k][n] += (v - all[k][n]) / counts[k][n]
	}
	return all, nil
}

// A point is a combination of levels: bit i is set where switch i is on.
type point uint

// effects prints what each switch does.
func (t *table) effects(out io.Writer, switches []string) error {
	columns := make([]int, len(switches))
	for i, name := range switches {
		var err error
		if columns[i], err = t.column(name); err != nil {
			return err
		}
	}
	all, err := values(t, func(row []string) (p point, err error) {
		for i, at := range columns {
			switch level := row[at]; level {
			case "on":
				p |= 1 << i
			case "off":
			default:
				return 0, fmt.Errorf("%s has the level %q: want on and off", switches[i], level)
			}
		}
		return p, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| switch | ratio on/off | interval | difference in %s | interval | least | most | verdict |\n",
		t.metric)
	fmt.Fprintf(out, "| --- | ---: | --- | ---: | --- | ---: | ---: | --- |\n")
	for i, name := range switches {
		e, err := t.effectOf(all, i)
		if err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
		fmt.Fprintf(out, "| %s | %.3g | [%.3g, %.3g] | %+.3g | [%+.3g, %+.3g] | %.3g | %.3g | %s |\n",
			name, e.c.Ratio, e.c.Lo, e.c.Hi, e.difference.Median, e.difference.Lo, e.difference.Hi, e.least, e.most, e.c.Verdict)
	}
	return nil
}

type effect struct {
	c           stat.Comparison
	difference  stat.Summary
	least, most float64
}

func (t *table) effectOf(all map[point]blocks, i int) (effect, error) {
	every := map[int]bool{}
	for _, by := range all {
		for block := range by {
			every[block] = true
		}
	}
	off, on, difference := blocks{}, blocks{}, blocks{}
	pairs := map[point][]float64{}
	for block := range every {
		n := 0.0
		for p := range all {
			if p>>i&1 == 1 {
				continue
			}
			a, ok1 := all[p][block]
			b, ok2 := all[p|1<<i][block]
			if !ok1 || !ok2 {
				return effect{}, fmt.Errorf("block %d lacks a configuration: the run is not a whole factorial of these switches",
					block)
			}
			n++
			off[block] += math.Log(a)
			on[block] += math.Log(b)
			difference[block] += b - a
			pairs[p] = append(pairs[p], b/a)
		}
		if n == 0 {
			return effect{}, fmt.Errorf("it is never off")
		}
		off[block], on[block] = math.Exp(off[block]/n), math.Exp(on[block]/n)
		difference[block] /= n
	}
	e := effect{c: t.compare(off, on), difference: stat.Summarize(difference.series()), least: math.Inf(1)}
	for _, ratios := range pairs {
		m := stat.Summarize(stat.Series{Values: ratios}).Median
		e.least, e.most = min(e.least, m), max(e.most, m)
	}
	return e, nil
}
