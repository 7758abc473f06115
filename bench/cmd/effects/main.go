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
//	isobar lab export --format csv RUN | go run ./cmd/effects [-metric NAME] SWITCH ...
//	isobar lab export --format csv RUN | go run ./cmd/effects [-metric NAME] -against FACTOR=LEVEL
package main

import (
	"encoding/csv"
	"errors"
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
	versus := flags.String("against", "", "print the levels of a factor beside this one: FACTOR=LEVEL")
	if err := flags.Parse(args); err != nil {
		return err
	}
	factor, base, against := strings.Cut(*versus, "=")
	switches := flags.Args()
	if !against && len(switches) == 0 {
		return errors.New("no switches: name the factors with the levels on and off, or one with -against FACTOR=LEVEL")
	}
	e, err := read(in, *metric)
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

func read(in io.Reader, metric string) (*table, error) {
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
	failure, of := slices.Index(e.head, "failure"), slices.Index(e.head, "metric")
	for _, row := range rows[1:] {
		if row[failure] != "" {
			return nil, fmt.Errorf("a cell failed (%s): a comparison needs all", row[failure])
		}
		if row[of] == metric {
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

// A place is a level of a factor at one combination of the levels of others.
type place struct{ others, level string }

// values collects the values by place and block. A baseline that ran twice in a
// block counts with its mean.
func (t *table) values(factor int, others []int) (map[place]blocks, error) {
	block, value := slices.Index(t.head, "block"), slices.Index(t.head, "value")
	all, counts := map[place]blocks{}, map[place]blocks{}
	for _, row := range t.rows {
		at := place{level: row[factor]}
		for _, o := range others {
			at.others += row[o] + "\x00"
		}
		n, err := strconv.Atoi(row[block])
		if err != nil {
			return nil, err
		}
		v, err := strconv.ParseFloat(row[value], 64)
		if err != nil {
			return nil, err
		}
		if all[at] == nil {
			all[at], counts[at] = blocks{}, blocks{}
		}
		counts[at][n]++
		all[at][n] += (v - all[at][n]) / counts[at][n]
	}
	return all, nil
}

// effects prints what each switch does.
func (t *table) effects(out io.Writer, switches []string) error {
	var columns []int
	for _, name := range switches {
		at, err := t.column(name)
		if err != nil {
			return err
		}
		columns = append(columns, at)
		for _, row := range t.rows {
			if level := row[at]; level != "on" && level != "off" {
				return fmt.Errorf("%s has the level %q: want on and off", name, level)
			}
		}
	}
	fmt.Fprintf(out, "| switch | ratio on/off | interval | difference in %s | interval | least | most | verdict |\n",
		t.metric)
	fmt.Fprintf(out, "| --- | ---: | --- | ---: | --- | ---: | ---: | --- |\n")
	for i, name := range switches {
		all, err := t.values(columns[i], slices.Delete(slices.Clone(columns), i, i+1))
		if err == nil {
			err = t.effect(out, name, all)
		}
		if err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
	}
	return nil
}

// effect prints what a switch does.
func (t *table) effect(out io.Writer, name string, all map[place]blocks) error {
	var pairs [][2]blocks // off and on, by combination of the other switches
	every := blocks{}
	for at, b := range all {
		maps.Copy(every, b)
		if at.level == "off" {
			pairs = append(pairs, [2]blocks{b, all[place{at.others, "on"}]})
		}
	}
	if len(pairs) == 0 {
		return errors.New("it is never off")
	}
	off, on, difference, n := blocks{}, blocks{}, blocks{}, float64(len(pairs))
	least, most := math.Inf(1), 0.0
	for _, pair := range pairs {
		var ratios stat.Series
		for block := range every {
			a, ok1 := pair[0][block]
			b, ok2 := pair[1][block]
			if !ok1 || !ok2 {
				return fmt.Errorf("block %d lacks a configuration: the run is not a whole factorial of these switches", block)
			}
			off[block] += math.Log(a) / n
			on[block] += math.Log(b) / n
			difference[block] += (b - a) / n
			ratios.Values = append(ratios.Values, b/a)
		}
		m := stat.Summarize(ratios).Median
		least, most = min(least, m), max(most, m)
	}
	for block := range every {
		off[block], on[block] = math.Exp(off[block]), math.Exp(on[block])
	}
	c, d := t.compare(off, on), stat.Summarize(difference.series())
	_, err := fmt.Fprintf(out, "| %s | %.3g | [%.3g, %.3g] | %+.3g | [%+.3g, %+.3g] | %.3g | %.3g | %s |\n",
		name, c.Ratio, c.Lo, c.Hi, d.Median, d.Lo, d.Hi, least, most, c.Verdict)
	return err
}
