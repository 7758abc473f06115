package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Our exports are ordinary Go benchmark files with four additions, which
// benchstat ignores and Import reads:
//
//   - the configuration line "format: isobar";
//   - where a fleet measured, configuration lines with the worker ("machine") and
//     the digest of its host ("host") before the results of each machine, by
//     which benchstat keeps machines apart;
//   - "metric=" in the lines of unit metadata, the name of the metric behind a
//     unit;
//   - before each result a line that begins with markPrefix. It says which cell
//     the result is of, and holds metrics that are 0 in more than half of the
//     repetitions, other than those that go test reports too: benchstat cannot
//     take geometric means over zeros and would warn of each.
const (
	formatKey   = "format"
	formatValue = "isobar"
	metricKey   = "metric"
	machineKey  = "machine"
	hostKey     = "host"
	markPrefix  = "# isobar:"
)

// testUnits are the metrics that go test reports too, under its own units.
var testUnits = map[string]string{cell.OpTime: "ns/op", cell.OpBytes: "B/op", cell.OpAllocs: "allocs/op"}

// unitOf returns the unit that represents a metric. benchstat recognizes and scales times in ns:
// "/latency/response/p99:ns" becomes "response-p99-ns".
func unitOf(metric string) string {
	if unit, ok := testUnits[metric]; ok {
		return unit
	}
	name, unit, ok := strings.Cut(metric, ":")
	if !ok || !strings.HasPrefix(name, "/") {
		return metric
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "/latency"), "/")
	return strings.ReplaceAll(name, "/", "-") + "-" + unit
}

// units assigns a unit to each metric, distinct from all others even after benchstat
// has scaled them.
func units(metrics []string) map[string]string {
	out := make(map[string]string, len(metrics))
	taken := make(map[string]bool, len(metrics))
	for _, metric := range metrics {
		unit := unitOf(metric)
		_, tidied := benchunit.Tidy(1, unit)
		for n := 2; taken[tidied]; n++ {
			unit = fmt.Sprintf("%s-%d", unitOf(metric), n)
			_, tidied = benchunit.Tidy(1, unit)
		}
		out[metric], taken[tidied] = unit, true
	}
	return out
}

func exportBenchmarks(w io.Writer, run Run, _ []cell.Cell, records []*cell.Record) error {
	records = slices.DeleteFunc(slices.Clone(records), func(r *cell.Record) bool { return r.Err != nil })
	slices.SortStableFunc(records, func(a, b *cell.Record) int {
		return cmp.Or(a.Cell.Block-b.Cell.Block, a.Cell.Order-b.Cell.Order)
	})
	b := benchmarks{run: run, zeros: map[[2]string]int{}}
	all := make([]map[string]float64, len(records))
	for i, rec := range records {
		var err error
		if all[i], err = stat.Metrics(rec); err != nil {
			return err
		}
		b.count(rec, all[i])
	}
	here := configuration{}
	here.change(w, [][2]string{
		{formatKey, formatValue}, {"goos", run.Machine.OS}, {"goarch", run.Machine.Arch},
		{"pkg", "github.com/isobar-go/isobar"}, {"cpu", run.Machine.CPU},
	})
	b.head(w)
	out := benchfmt.NewWriter(w)
	for i, rec := range records {
		loud, quiet := b.values(rec, all[i])
		if len(loud) == 0 {
			continue // nothing was measured
		}
		here.change(w, whereabouts(run, rec))
		writeMark(w, rec, quiet)
		if err := out.Write(b.result(rec, loud)); err != nil {
			return err
		}
	}
	return nil
}

// benchmarks is what the lines of a run share.
type benchmarks struct {
	run   Run
	zeros map[[2]string]int // by key and metric: repetitions that are at most 0, minus the others
	unit  map[string]string // by metric; set once all records are counted
}

func (b *benchmarks) count(rec *cell.Record, metrics map[string]float64) {
	for metric, value := range metrics {
		k := [2]string{rec.Cell.Key(), metric}
		if value <= 0 && testUnits[metric] == "" {
			b.zeros[k]++
		} else {
			b.zeros[k]--
		}
	}
}

// head gives each metric a unit and writes which direction is better.
func (b *benchmarks) head(w io.Writer) {
	known := make(map[string]bool)
	for k := range b.zeros {
		known[k[1]] = true
	}
	names := slices.Sorted(maps.Keys(known))
	b.unit = units(names)
	fmt.Fprintln(w)
	for _, metric := range names {
		fmt.Fprintf(w, "Unit %s better=%s %s=%s\n", b.unit[metric], cell.Better(metric), metricKey, metric)
	}
	fmt.Fprintln(w)
}

// values splits a record's figures into those that benchstat can compare and those that are
// mostly 0, which have no ratio. If all are mostly 0, they come first.
func (b *benchmarks) values(rec *cell.Record, metrics map[string]float64) (loud, quiet []benchfmt.Value) {
	key := rec.Cell.Key()
	for _, metric := range slices.Sorted(maps.Keys(metrics)) {
		v := benchfmt.Value{Value: metrics[metric], Unit: b.unit[metric]}
		if b.zeros[[2]string{key, metric}] > 0 {
			quiet = append(quiet, v)
			continue
		}
		if v.Value == 0 {
			// The reader does not scale 0 and would mistake its unit for another one.
			_, v.Unit = benchunit.Tidy(0, v.Unit)
		}
		loud = append(loud, v)
	}
	if len(loud) == 0 {
		return quiet, nil
	}
	return loud, quiet
}

// writeMark writes the line before a result, with its cell and the quiet
// figures.
func writeMark(w io.Writer, rec *cell.Record, quiet []benchfmt.Value) {
	fmt.Fprintf(w, "%s block=%d order=%d workload=%s",
		markPrefix, rec.Cell.Block, rec.Cell.Order, url.QueryEscape(rec.Cell.Workload))
	if study := rec.Cell.Study; study != "" {
		fmt.Fprintf(w, ";%s", url.QueryEscape(study))
	}
	for _, v := range quiet {
		fmt.Fprintf(w, " %v %s", v.Value, v.Unit)
	}
	fmt.Fprintln(w)
}

func (b *benchmarks) result(rec *cell.Record, values []benchfmt.Value) *benchfmt.Result {
	cpus := b.run.Machine.CPUs
	if o := rec.Origin; o != nil {
		cpus = o.Machine.CPUs
	}
	result := &benchfmt.Result{Name: benchmarkName(rec.Cell.Config, cpus), Iters: 1, Values: values}
	if n := rec.Metrics[cell.Ops]; n >= 1 && n < 1<<62 {
		result.Iters = int(n)
	}
	return result
}

// whereabouts returns the configuration lines that say where a record was measured.
func whereabouts(run Run, rec *cell.Record) [][2]string {
	m, worker, host := run.Machine, "", ""
	if o := rec.Origin; o != nil {
		m, worker, host = o.Machine, o.Worker, o.Machine.Hostname
	}
	return [][2]string{{machineKey, worker}, {hostKey, host}, {"goos", m.OS}, {"goarch", m.Arch}, {"cpu", m.CPU}}
}

// A configuration is the set of its lines in force.
type configuration map[string]string

// change writes the lines that differ; a line without a value ends one.
func (c configuration) change(w io.Writer, lines [][2]string) {
	for _, l := range lines {
		if value := strings.Join(strings.Fields(l[1]), " "); value != c[l[0]] {
			c[l[0]] = value
			fmt.Fprintf(w, "%s: %s\n", l[0], value)
		}
	}
}

// benchmarkName returns the key with the capital letter that the format requires,
// followed by GOMAXPROCS if known.
func benchmarkName(c cell.Config, cpus int) []byte {
	var b strings.Builder
	for i, r := range c.Key() {
		switch {
		case i == 0:
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsSpace(r): // rare kinds of space, which Key does not escape
			b.WriteString(url.PathEscape(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	switch {
	case c.GOMAXPROCS > 0:
		cpus = c.GOMAXPROCS
	case cpus == 0:
		return []byte(b.String())
	}
	return fmt.Appendf(nil, "%s-%d", &b, cpus)
}

// A mark is a parsed line with markPrefix, about the result that follows.
type mark struct {
	block, order int
	workload     string
	study        string // "" if the workload has only one in the run
	values       []benchfmt.Value
}

// readMarks returns the marks by the line number of their result.
func readMarks(data []byte, file string) (map[int]*mark, error) {
	marks := make(map[int]*mark)
	var pending *mark
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if text, ok := strings.CutPrefix(string(line), markPrefix); ok {
			m, err := parseMark(text)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, number, err)
			}
			pending = m
		} else if pending != nil && bytes.HasPrefix(line, []byte("Benchmark")) {
			marks[number], pending = pending, nil
		}
	}
	return marks, nil
}

func parseMark(text string) (*mark, error) {
	m := new(mark)
	fields := strings.Fields(text)
	if len(fields) < 3 || len(fields)%2 != 1 {
		return nil, fmt.Errorf("want %s block=N order=N workload=NAME and pairs of value and unit", markPrefix)
	}
	if _, err := fmt.Sscanf(strings.Join(fields[:2], " "), "block=%d order=%d", &m.block, &m.order); err != nil ||
		m.block < 0 || m.order < 0 {
		return nil, fmt.Errorf("%q %q: want block=N order=N", fields[0], fields[1])
	}
	names, ok := strings.CutPrefix(fields[2], "workload=")
	workload, study, _ := strings.Cut(names, ";")
	var errs [2]error
	workload, errs[0] = url.QueryUnescape(workload)
	study, errs[1] = url.QueryUnescape(study)
	if !ok || errors.Join(errs[:]...) != nil {
		return nil, fmt.Errorf("%q: want workload=NAME, or workload=NAME;STUDY", fields[2])
	}
	m.workload, m.study = strings.ToValidUTF8(workload, replacement), strings.ToValidUTF8(study, replacement)
	for i := 3; i < len(fields); i += 2 {
		v := benchfmt.Value{Unit: fields[i+1]}
		var err error
		if v.Value, err = strconv.ParseFloat(fields[i], 64); err != nil {
			return nil, fmt.Errorf("%q: want a number", fields[i])
		}
		m.values = append(m.values, v)
	}
	return m, nil
}
