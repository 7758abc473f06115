package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// results collects series by benchmark, implementation and unit.
type results struct {
	job
	order []string                          // benchmarks, as first seen
	by    map[string]map[string]*stat.Group // benchmark without impl -> impl -> series by unit
	from  map[string]string                 // package -> what it was measured with
}

func newResults(j job) *results {
	return &results{job: j, by: map[string]map[string]*stat.Group{}, from: map[string]string{}}
}

var implKey = regexp.MustCompile(`/impl=([^/]+?)(-\d+)?(/|$)`)

// split takes the implementation out of a benchmark's name.
func split(name string) (benchmark, impl string, ok bool) {
	m := implKey.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return strings.Replace(name, m[0], m[2]+m[3], 1), m[1], true
}

func (r *results) add(from record) error {
	r.from[from.Pkg] = fmt.Sprintf("%s at commit %s", from.Go, from.Commit)
	all, err := from.benchmarks()
	for _, res := range all {
		benchmark, impl, ok := split(res.Name.String())
		if !ok {
			continue // not a comparison
		}
		benchmark = from.Pkg + "." + benchmark
		if r.by[benchmark] == nil {
			r.by[benchmark] = map[string]*stat.Group{}
			r.order = append(r.order, benchmark)
		}
		g := r.by[benchmark][impl]
		if g == nil {
			g = &stat.Group{Key: impl, Series: map[string]stat.Series{}}
			r.by[benchmark][impl] = g
		}
		for _, v := range res.Values {
			s := g.Series[v.Unit]
			s.Metric = v.Unit
			s.Blocks, s.Values = append(s.Blocks, from.Block), append(s.Values, v.Value)
			g.Series[v.Unit] = s
		}
	}
	return err
}

// writeSections writes the tables of a job's packages, each package below the
// command, and what it was measured with.
func (r *results) writeSections(w io.Writer) {
	of := "CPU time per operation where the benchmark reports it, else in wall time"
	if r.Wall {
		of = "wall time per operation"
	}
	last := ""
	for _, benchmark := range r.order {
		pkg, name, _ := strings.Cut(benchmark, ".")
		if pkg != last {
			fmt.Fprintf(w, "\n## %s%s\n\n`cd bench && go run ./cmd/ratios %s`, %s: %s/peer in %s.\n",
				pkg, r.Variant, r.line(), r.from[pkg], r.Ours, of)
			last = pkg
		}
		impls := r.by[benchmark]
		cols := columns(impls)
		fmt.Fprintf(w, "\n### %s\n\n| implementation |", name)
		for _, c := range cols {
			fmt.Fprintf(w, " %s |", c.title)
		}
		fmt.Fprintf(w, " ratio | interval | verdict for %s |\n| --- |%s ---: | --- | --- |\n", r.Ours,
			strings.Repeat(" ---: |", len(cols)))
		for _, impl := range slices.Sorted(maps.Keys(impls)) {
			r.writeRow(w, impl, impls[impl], impls[r.Ours], cols)
		}
	}
}

// cpuUnit is the unit in which g and our both report CPU time, or "sec/op"
// where they do not: CPU time varies less than wall time on a shared machine.
func cpuUnit(g, our *stat.Group) string {
	for unit := range g.Series {
		if _, ok := our.Series[unit]; ok && strings.HasPrefix(unit, "cpu-") {
			return unit
		}
	}
	return "sec/op"
}

// A column shows the median of a unit times a factor.
type column struct {
	unit, title, format string
	factor              float64
}

// columns are the time, what else some of impls report of a request or such (CPU
// time, bytes that a benchmark counts by SetBytes), and the memory.
func columns(impls map[string]*stat.Group) []column {
	units := map[string]bool{}
	for _, g := range impls {
		for unit := range g.Series {
			units[unit] = true
		}
	}
	cols := []column{{"sec/op", "time/op", "%.4g ns", 1e9}}
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		if of, ok := strings.CutPrefix(unit, "cpu-sec/"); ok {
			cols = append(cols, column{unit, "CPU/" + of, "%.4g ns", 1e9})
		} else if of, ok := strings.CutPrefix(unit, "user-sec/"); ok {
			cols = append(cols, column{unit, "user CPU/" + of, "%.4g ns", 1e9})
		}
	}
	if units["B/s"] {
		cols = append(cols, column{"B/s", "GB/s", "%.3g", 1e-9})
	}
	return append(cols, column{"B/op", "B/op", "%.4g", 1}, column{"allocs/op", "allocs/op", "%.4g", 1})
}

func (r *results) writeRow(w io.Writer, impl string, g, our *stat.Group, cols []column) {
	fmt.Fprintf(w, "| %s |", impl)
	for _, c := range cols {
		cell := ""
		if s, ok := g.Series[c.unit]; ok {
			cell = fmt.Sprintf(c.format, stat.Summarize(s).Median*c.factor)
		}
		fmt.Fprintf(w, " %s |", cell)
	}
	if our == nil || impl == prefix || strings.HasPrefix(impl, prefix+"-") {
		fmt.Fprintln(w, " | | |")
		return
	}
	unit := cpuUnit(g, our)
	if r.Wall {
		unit = "sec/op"
	}
	c := stat.Compare(g, our, unit, 1)
	of := "wall"
	if unit != "sec/op" {
		of = "CPU"
	}
	fmt.Fprintf(w, " %.3g (%s) | [%.3g, %.3g] | %s |\n", c.Ratio, of, c.Lo, c.Hi, c.Verdict)
}
