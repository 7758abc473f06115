package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math"
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

// add adds one result, or the record that Export wrote before it, if it did.
func (im *imported) add(result *benchfmt.Result, mark *cell.Record, units benchfmt.UnitMetadataMap) (err error) {
	rec := mark
	if rec == nil {
		if rec, err = readResult(result, units); err != nil {
			return err
		}
		if _, ok := im.orders[rec.Cell.Key()]; !ok {
			im.orders[rec.Cell.Key()] = len(im.orders)
		}
		rec.Cell.Order = im.orders[rec.Cell.Key()]
	}
	c := &rec.Cell
	c.Index = len(im.cells)
	for im.taken[fmt.Sprint(c.Block, c.Key())] {
		c.Block++
	}
	im.taken[fmt.Sprint(c.Block, c.Key())] = true
	im.cells = append(im.cells, *c)
	im.records = append(im.records, rec)
	return nil
}

// readResult returns a result as a record of block 0.
func readResult(result *benchfmt.Result, units benchfmt.UnitMetadataMap) (*cell.Record, error) {
	c, err := parseName(result)
	if err != nil {
		return nil, err
	}
	rec := &cell.Record{Cell: cell.Cell{Config: c}}
	rec.Set(cell.Ops, float64(result.Iters))
	for _, v := range result.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%v %s: want a finite number", value, unit)
		}
		metric := unit
		for name, u := range testUnits {
			if u == unit {
				metric = name
			}
		}
		if _, ok := rec.Metrics[metric]; ok {
			return nil, fmt.Errorf("two values in %s: want one per unit", unit)
		}
		rec.Set(metric, value)
		if units.GetBetter(unit) > 0 && !cell.HigherIsBetter(metric) {
			rec.Warn("direction", "larger values of %s are better, but verdicts treat smaller ones as better", metric)
		}
	}
	return rec, nil
}

// parseName reads the configuration from a benchmark's name and the "pkg:" line. Only a valid GC
// setting counts as a setting; parameters named like another one are renamed.
func parseName(result *benchfmt.Result) (cell.Config, error) {
	base, parts := result.Name.Parts()
	c := cell.Config{Workload: string(base), GC: UnknownGC}
	if pkg := result.GetConfig("pkg"); pkg != "" {
		c.Params = map[string]string{"pkg": pkg}
	}
	for i, part := range parts {
		text := string(part)
		if text[0] == '-' {
			c.GOMAXPROCS, _ = strconv.Atoi(text[1:]) // digits, see benchfmt; 0 if there are too many
			continue
		}
		name, value, ok := strings.Cut(text[1:], "=")
		if !ok || name == "" {
			name, value = fmt.Sprintf("sub%d", i+1), text[1:]
		}
		_, notGC := cell.ParseGC(value)
		if name == "workload" || cell.IsSetting(name) && (name != "gc" || notGC != nil) {
			name = "own." + name
		}
		if err := c.Set(name, value); err != nil {
			return c, err
		}
	}
	return c, nil
}
