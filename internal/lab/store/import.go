package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// UnknownGC is the GC setting of imported results that do not state theirs.
var UnknownGC = cell.GC{Name: "unknown", Percent: 100}

// replacement takes the place of invalid UTF-8, as in JSON, the format of the stored plan.
// An escape such as %AB can produce it too.
const replacement = "\uFFFD"

// Import stores the results of r, in the Go benchmark format, as a run: all or nothing. name
// denotes r in errors, which read NAME:LINE.
//
// The part of a benchmark's name before the first slash is the workload. Parts
// of the form key=value are its parameters, other parts become parameters sub1,
// sub2 and so on, the suffix -N is GOMAXPROCS, and a "pkg:" line is one more
// parameter. The lines of one benchmark are its repetitions: the n-th is in
// block n-1. ns/op, B/op and allocs/op become the metrics of package cell, any
// other unit a metric of that name. Results written by Export are restored
// exactly.
func (s *Store) Import(r io.Reader, name string, run Run) (id int64, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, fmt.Errorf("store: import %s: %w", name, err)
	}
	im, err := readBenchmarks(data, name)
	if err != nil {
		return 0, fmt.Errorf("store: import: %w", err)
	}
	run.Imported = true
	if run.Machine.CPU == "" {
		run.Machine.OS, run.Machine.Arch, run.Machine.CPU = im.machine.OS, im.machine.Arch, im.machine.CPU
	}
	err = s.update("import "+name, func(tx *sql.Tx) error {
		if id, err = createRun(tx, run, im.cells); err != nil {
			return err
		}
		a, err := newAppender(tx, id)
		if err != nil {
			return err
		}
		for _, rec := range im.records {
			rec.Started = run.Created
			if err := a.append(rec, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return id, err
}

// imported is the content of a benchmark file.
type imported struct {
	machine cell.Machine
	cells   []cell.Cell
	records []*cell.Record
	orders  map[string]int  // by key, in order of appearance
	taken   map[string]bool // keys with their block
}

func readBenchmarks(data []byte, file string) (*imported, error) {
	data = bytes.ToValidUTF8(data, []byte(replacement))
	marks, err := readMarks(data, file)
	if err != nil {
		return nil, err
	}
	reader := benchfmt.NewReader(bytes.NewReader(data), file)
	var results []*benchfmt.Result
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			results = append(results, rec.Clone())
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("%w: want NAME ITERATIONS and pairs of value and unit, as go test -bench prints them", rec)
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s: no benchmark results: want the output of go test -bench, or of isobar lab export", file)
	}
	im := &imported{orders: make(map[string]int), taken: make(map[string]bool)}
	im.machine.OS, im.machine.Arch, im.machine.CPU = results[0].GetConfig("goos"), results[0].GetConfig("goarch"),
		results[0].GetConfig("cpu")
	for _, result := range results {
		_, line := result.Pos()
		if err := im.add(result, marks[line], reader.Units()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	return im, nil
}

// add adds one result. m is nil unless Export wrote the file.
func (im *imported) add(result *benchfmt.Result, m *mark, units benchfmt.UnitMetadataMap) error {
	c := cell.Cell{Index: len(im.cells)}
	var err error
	if c.Config, err = parseName(result, m); err != nil {
		return err
	}
	key := c.Key()
	if _, ok := im.orders[key]; !ok {
		im.orders[key] = len(im.orders)
	}
	c.Order = im.orders[key]
	values := result.Values
	if m != nil {
		c.Block, c.Order = m.block, m.order
		values = append(values, m.values...)
	}
	for im.taken[fmt.Sprint(c.Block, key)] {
		c.Block++
	}
	im.taken[fmt.Sprint(c.Block, key)] = true
	rec := &cell.Record{Cell: c}
	if worker := result.GetConfig(machineKey); m != nil && worker != "" {
		rec.Origin = &cell.Origin{Worker: worker,
			Machine: cell.Machine{Hostname: result.GetConfig(hostKey), OS: result.GetConfig("goos"),
				Arch: result.GetConfig("goarch"), CPU: result.GetConfig("cpu")}}
	}
	if m == nil {
		rec.Set(cell.Ops, float64(result.Iters))
	}
	for _, v := range values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("%v %s: want a finite number", value, unit)
		}
		metric := metricOf(unit, units)
		if _, ok := rec.Metrics[metric]; ok {
			return fmt.Errorf("two values in %s: want one per unit", unit)
		}
		rec.Set(metric, value)
		if units.GetBetter(unit) > 0 && !cell.HigherIsBetter(metric) {
			rec.Warn("direction", "larger values of %s are better, but verdicts treat smaller ones as better", metric)
		}
	}
	im.cells = append(im.cells, c)
	im.records = append(im.records, rec)
	return nil
}

// metricOf is the inverse of unitOf.
func metricOf(unit string, units benchfmt.UnitMetadataMap) string {
	if m := units.Get(unit, metricKey); m != nil && m.Value != "" {
		return m.Value
	}
	for metric, u := range testUnits {
		if u == unit {
			return metric
		}
	}
	return unit
}

// parseName reads the configuration from a benchmark's name and, unless Export
// wrote it, from the "pkg:" line.
func parseName(result *benchfmt.Result, m *mark) (cell.Config, error) {
	ours := m != nil && result.GetConfig(formatKey) == formatValue
	base, parts := result.Name.Parts()
	c := cell.Config{Workload: string(base), GC: UnknownGC}
	if ours {
		c.Workload, c.Study = m.workload, m.study
	} else if pkg := result.GetConfig("pkg"); pkg != "" {
		c.Params = map[string]string{"pkg": pkg}
	}
	for i, part := range parts {
		text := string(part)
		if text[0] == '-' {
			if !ours {
				c.GOMAXPROCS, _ = strconv.Atoi(text[1:]) // digits, see benchfmt; 0 if there are too many
			}
			continue
		}
		name, value, ok := strings.Cut(text[1:], "=")
		if !ok || name == "" {
			name, value = fmt.Sprintf("sub%d", i+1), text[1:]
		}
		if ours {
			var err error
			if value, err = url.PathUnescape(value); err != nil {
				return c, fmt.Errorf("%q: %w", text, err)
			}
			value = strings.ToValidUTF8(value, replacement)
		}
		if err := setFactor(&c, name, value, ours); err != nil {
			return c, err
		}
	}
	return c, nil
}

// setFactor sets one factor of a configuration. In foreign names only a valid
// GC setting counts as one; parameters named like one of our settings are
// renamed.
func setFactor(c *cell.Config, name, value string, ours bool) error {
	_, notGC := cell.ParseGC(value)
	switch {
	case name == "gc" && value == UnknownGC.Name && ours:
		c.GC = UnknownGC
		return nil
	case name == "workload", cell.IsSetting(name) && !ours && (name != "gc" || notGC != nil):
		name = "own." + name
	}
	return c.Set(name, value)
}
