// Ratios runs the benchmarks of this module in interleaved blocks and writes
// tables of ours against the peers, below a summary of all of them.
//
// Benchmarks that share a name but for the key impl=… do the same work. Each
// block runs every benchmark once, packages in an order shuffled by a recorded
// seed; the ratio isobar/peer is formed within a block, and its median and
// bootstrap interval over blocks by package stat, as the lab does. A ratio below
// 1 means that ours costs less. Rows that we lose stay in.
//
// Usage:
//
//	go run ./cmd/ratios [-blocks 10] [-benchtime 100ms] [-bench REGEXP] [-ours isobar]
//		[-wall] [-out FILE] [PACKAGE ...]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// prefix begins the values of the key impl that are our own side; -ours names
// the one that peers are compared with.
const prefix = "isobar"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "ratios: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("ratios", flag.ExitOnError)
	blocks := flags.Int("blocks", 10, "repetitions; each runs every benchmark once")
	benchtime := flags.String("benchtime", "100ms", "as of go test")
	bench := flags.String("bench", ".", "as of go test")
	seed := flags.Uint64("seed", 1, "seed of the order of packages")
	out := flags.String("out", "", "write the tables to this file instead of standard output")
	cpus := flags.String("cpu", "1,2", "as of go test")
	ours := flags.String("ours", prefix, "the implementation that the peers are compared with")
	wall := flags.Bool("wall", false, "compare wall time, CPU time or not")
	if err := flags.Parse(args); err != nil {
		return err
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	dir, err := os.MkdirTemp("", "isobar-ratios-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binaries, err := build(dir, patterns)
	if err != nil {
		return err
	}
	results := newResults()
	results.ours, results.wall = *ours, *wall
	rng := rand.New(rand.NewPCG(*seed, 0))
	for block := range *blocks {
		for _, i := range rng.Perm(len(binaries)) {
			b := binaries[i]
			fmt.Fprintf(os.Stderr, "block %d/%d %s\n", block+1, *blocks, b.pkg)
			output, err := b.run(*bench, *benchtime, *cpus)
			if err != nil {
				return err
			}
			if err := results.add(b.pkg, block, output); err != nil {
				return err
			}
		}
	}
	var tables strings.Builder
	if err := results.write(&tables, command(os.Getenv("GOEXPERIMENT"), args), *seed); err != nil {
		return err
	}
	page := summarize(tables.String())
	if *out == "" {
		_, err := io.WriteString(os.Stdout, page)
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644)
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// command is how a shell repeats the run.
func command(experiment string, args []string) string {
	var b strings.Builder
	if experiment != "" {
		b.WriteString("GOEXPERIMENT=" + experiment + " ")
	}
	b.WriteString("go run ./cmd/ratios")
	for _, arg := range args {
		if !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		b.WriteString(" " + arg)
	}
	return b.String()
}

// A binary is a compiled test binary of one package.
type binary struct{ pkg, dir, file string }

func build(dir string, patterns []string) ([]binary, error) {
	list, err := exec.Command("go", append([]string{"list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var binaries []binary
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		pkg, pkgDir, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_"))
		if msg, err := exec.Command("go", "test", "-c", "-o", file, pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
		binaries = append(binaries, binary{strings.TrimPrefix(pkg, "github.com/isobar-go/isobar/bench/"), pkgDir, file})
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(patterns, " "))
	}
	return binaries, nil
}

func (b binary) run(bench, benchtime, cpus string) ([]byte, error) {
	cmd := exec.Command(b.file, "-test.run=^$", "-test.bench="+bench, "-test.benchtime="+benchtime, "-test.benchmem",
		"-test.cpu="+cpus)
	cmd.Dir = b.dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", b.pkg, err, out)
	}
	return out, nil
}

// results collects series by benchmark, implementation and unit.
type results struct {
	ours  string
	wall  bool
	order []string                          // benchmarks, as first seen
	by    map[string]map[string]*stat.Group // benchmark without impl -> impl -> series by unit
}

func newResults() *results { return &results{ours: prefix, by: map[string]map[string]*stat.Group{}} }

var implKey = regexp.MustCompile(`/impl=([^/]+?)(-\d+)?(/|$)`)

// split takes the implementation out of a benchmark's name.
func split(name string) (benchmark, impl string, ok bool) {
	m := implKey.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return strings.Replace(name, m[0], m[2]+m[3], 1), m[1], true
}

func (r *results) add(pkg string, block int, output []byte) error {
	reader := benchfmt.NewReader(bytes.NewReader(output), pkg)
	for reader.Scan() {
		res, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		benchmark, impl, ok := split(res.Name.String())
		if !ok {
			continue // not a comparison
		}
		benchmark = pkg + "." + benchmark
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
			s.Blocks, s.Values = append(s.Blocks, block), append(s.Values, v.Value)
			g.Series[v.Unit] = s
		}
	}
	return reader.Err()
}

func (r *results) write(w io.Writer, command string, seed uint64) error {
	machine := host.Fingerprint()
	fmt.Fprintf(w,
		title+"\n\nWritten by `make bench` (`cd bench && %s`), on %s, %d CPUs, %s %s/%s; order of packages by seed %d.\n\n",
		command, machine.CPU, machine.CPUs, runtime.Version(), runtime.GOOS, runtime.GOARCH, seed)
	of := "CPU time per operation where the benchmark reports it, else in wall time"
	if r.wall {
		of = "wall time per operation"
	}
	fmt.Fprintf(w, "Ratio is %s/peer in %s: the median of\nratios paired by block, with its 95 %% bootstrap interval. "+
		"Below 1, ours costs less. The suffix -N of a name is GOMAXPROCS.\n", r.ours, of)
	last := ""
	for _, benchmark := range r.order {
		pkg, name, _ := strings.Cut(benchmark, ".")
		if pkg != last {
			fmt.Fprintf(w, "\n## %s\n", pkg)
			last = pkg
		}
		impls := r.by[benchmark]
		cols := columns(impls)
		fmt.Fprintf(w, "\n### %s\n\n| implementation |", name)
		for _, c := range cols {
			fmt.Fprintf(w, " %s |", c.title)
		}
		fmt.Fprintf(w, " ratio | interval | verdict for %s |\n| --- |%s ---: | --- | --- |\n", r.ours,
			strings.Repeat(" ---: |", len(cols)))
		names := make([]string, 0, len(impls))
		for impl := range impls {
			names = append(names, impl)
		}
		sort.Strings(names)
		for _, impl := range names {
			r.writeRow(w, impl, impls[impl], impls[r.ours], cols)
		}
	}
	return nil
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
	if r.wall {
		unit = "sec/op"
	}
	c := stat.Compare(g, our, unit, 1)
	of := "wall"
	if unit != "sec/op" {
		of = "CPU"
	}
	fmt.Fprintf(w, " %.3g (%s) | [%.3g, %.3g] | %s |\n", c.Ratio, of, c.Lo, c.Hi, c.Verdict)
}
