package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Our exports are ordinary Go benchmark files with two additions, which benchstat ignores:
//
//   - where a fleet measured, configuration lines with the worker ("machine") and
//     the digest of its host ("host") before the results of each machine, by
//     which benchstat keeps machines apart;
//   - before each result a line that begins with markPrefix: its record in JSON, without
//     histograms, which Import takes instead of the result.
//
// Results lack metrics that are 0 in more than half of the repetitions, other than those that go
// test reports too: benchstat cannot take geometric means over zeros and would warn of each.
const markPrefix = "# isobar: {"

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
		{"goos", run.Machine.OS}, {"goarch", run.Machine.Arch}, {"pkg", "github.com/isobar-go/isobar"},
		{"cpu", run.Machine.CPU},
	})
	b.head(w)
	out := benchfmt.NewWriter(w)
	for i, rec := range records {
		values := b.values(rec, all[i])
		if len(values) == 0 {
			continue // nothing was measured
		}
		here.change(w, whereabouts(run, rec))
		mark, err := json.Marshal(cell.Record{Cell: rec.Cell, Metrics: all[i], Origin: rec.Origin})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s%s\n", markPrefix, mark[1:])
		if err := out.Write(b.result(rec, values)); err != nil {
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
		fmt.Fprintf(w, "Unit %s better=%s\n", b.unit[metric], cell.Better(metric))
	}
	fmt.Fprintln(w)
}

// values returns the figures that benchstat can compare: those that are not mostly 0, or all if all are.
func (b *benchmarks) values(rec *cell.Record, metrics map[string]float64) (values []benchfmt.Value) {
	key := rec.Cell.Key()
	quiet := func(metric string) bool { return b.zeros[[2]string{key, metric}] > 0 }
	names := slices.Sorted(maps.Keys(metrics))
	if slices.ContainsFunc(names, func(metric string) bool { return !quiet(metric) }) {
		names = slices.DeleteFunc(names, quiet)
	}
	for _, metric := range names {
		v := benchfmt.Value{Value: metrics[metric], Unit: b.unit[metric]}
		if v.Value == 0 {
			// The reader does not scale 0 and would mistake its unit for another one.
			_, v.Unit = benchunit.Tidy(0, v.Unit)
		}
		values = append(values, v)
	}
	return values
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
	return [][2]string{{"machine", worker}, {"host", host}, {"goos", m.OS}, {"goarch", m.Arch}, {"cpu", m.CPU}}
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

// readMarks returns the records in lines with markPrefix by the line number of the result that follows.
func readMarks(data []byte, file string) (map[int]*cell.Record, error) {
	marks := make(map[int]*cell.Record)
	var pending *cell.Record
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if text, ok := strings.CutPrefix(string(line), markPrefix); ok {
			var rec cell.Record
			err := cell.Decode(strings.NewReader("{"+text), &rec)
			for metric, value := range rec.Metrics {
				err = cmp.Or(err, CheckMetric(metric, value))
			}
			pending = &cell.Record{Cell: rec.Cell, Metrics: rec.Metrics, Origin: rec.Origin}
			if c := rec.Cell; err == nil && (c.Block < 0 || c.Order < 0) {
				err = errors.New("want a block and an order of 0 or more")
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, number, err)
			}
		} else if pending != nil && bytes.HasPrefix(line, []byte("Benchmark")) {
			marks[number], pending = pending, nil
		}
	}
	return marks, nil
}
