package store

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchunit"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/latency"
)

// measured fills a store with a run of the given number of blocks; some cells failed.
func measured(t testing.TB, blocks int) (*Store, int64, []cell.Cell, []*cell.Record) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	cells := testPlan(blocks)
	odd := cell.Config{Workload: "exec", Study: "exec; 2 vet", Command: []string{"go", "vet", "./..."}, GC: cell.DisabledGC, GOMAXPROCS: 1, Collector: "classic",
		Params: map[string]string{"input": "a b/c%=\u00a0d-8"}}
	for block := range blocks {
		cells = append(cells, cell.Cell{Config: odd, Index: len(cells), Order: 3, Block: block})
	}
	id := create(t, s, cells)
	rng := rand.New(rand.NewPCG(1, 2))
	var records []*cell.Record
	for _, c := range cells {
		rec := testRecord(c, rng)
		rec.Set(cell.Ops, float64(1+rng.IntN(1e6)))
		rec.Set(cell.OpBytes, 16+rng.Float64())       // benchstat warns about 0 B/op
		rec.Set("/often/zero:ns", float64(c.Block%3)) // above zero in more than half of 8 blocks
		if c.Index%13 == 5 {
			rec.Err = &cell.Failure{Kind: cell.FailTimeout, Message: "60 s"}
		}
		if err := s.Append(id, rec, nil); err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
	return s, id, cells, records
}

func export(t testing.TB, s *Store, run int64, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Export(&b, run, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBenchmarksRoundTrip exports and imports: configurations, blocks and all values come back,
// as they do from an export of the import.
func TestBenchmarksRoundTrip(t *testing.T) {
	s, id, _, records := measured(t, 8)
	type position struct {
		key, title   string
		block, order int
	}
	want := make(map[position]map[string]float64)
	for _, rec := range records {
		if rec.Err != nil {
			continue
		}
		metrics, err := stat.Metrics(rec)
		if err != nil {
			t.Fatal(err)
		}
		want[position{rec.Cell.Key(), rec.Cell.Title(), rec.Cell.Block, rec.Cell.Order}] = metrics
	}
	for range 2 {
		text := export(t, s, id, "benchfmt")
		var err error
		if id, err = s.Import(strings.NewReader(text), "x.bench", Run{Name: "again", Created: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
		got := make(map[position]map[string]float64)
		imported, err := s.Records(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range imported {
			got[position{rec.Cell.Key(), rec.Cell.Title(), rec.Cell.Block, rec.Cell.Order}] = rec.Metrics
		}
		if len(imported) != len(want) || !reflect.DeepEqual(got, want) {
			t.Errorf("%d records, want %d\n got %v\nwant %v", len(imported), len(want), got, want)
		}
		run, err := s.Run(id)
		if err != nil || !run.Imported || run.Machine.OS != "linux" || run.Machine.CPU != "Some CPU" || run.Finished != len(want) {
			t.Errorf("%+v, %v", run, err)
		}
	}
}

// TestBenchstatAgrees runs benchstat on an export: it gives no warning, and for each
// configuration and metric the same median as package stat.
func TestBenchstatAgrees(t *testing.T) {
	s, id, cells, records := measured(t, 8)
	dir := t.TempDir()
	file := filepath.Join(dir, "run.bench")
	if err := os.WriteFile(file, []byte(export(t, s, id, "benchfmt")), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "tool", "benchstat", "-format", "csv", file)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("benchstat: %v\n%s", err, &stderr)
	}
	if noise := stderr.String(); noise != "" {
		t.Errorf("benchstat warns:\n%s", noise)
	}
	medians := readBenchstat(t, stdout.String())

	analysis, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, g := range analysis.Groups {
		name := string(benchmarkName(g.Config, 2))
		for metric, series := range g.Series {
			want, unit := benchunit.Tidy(stat.Summarize(series).Median, unitOf(metric))
			got, ok := medians[[2]string{name, unit}]
			if !ok {
				if want > 0 {
					t.Errorf("benchstat lacks %s of %s", unit, name)
				}
				continue
			}
			if compared++; math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s of %s: benchstat says %v, we say %v", unit, name, got, want)
			}
		}
	}
	if compared < 3*15 {
		t.Errorf("only %d medians compared", compared)
	}
}

// readBenchstat reads the medians from benchstat's CSV, by name and unit.
func readBenchstat(t *testing.T, text string) map[[2]string]float64 {
	t.Helper()
	medians := make(map[[2]string]float64)
	unit := ""
	for line := range strings.Lines(text) {
		fields, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil || len(fields) < 2 {
			continue
		}
		if fields[0] == "" {
			unit = fields[1]
			continue
		}
		if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
			medians[[2]string{fields[0], unit}] = v
		}
	}
	return medians
}

func TestImportPlain(t *testing.T) {
	const text = `goos: linux
goarch: amd64
pkg: example.com/a
cpu: Fast CPU
BenchmarkEncode/format=json/deep-8   	  690848	      1726 ns/op	     512 B/op	       3 allocs/op
BenchmarkEncode/format=json/deep-8   	  684861	      1723.5 ns/op	     512 B/op	       0 allocs/op
BenchmarkPlain 	  10	      0 ns/op	  120.5 MB/s	  7 widgets
PASS
ok  	example.com/a	1.2s
pkg: example.com/b
BenchmarkEncode/format=json/deep-8   	  1	      5 ns/op
Unit widgets better=higher
BenchmarkEncode/gc=200-8   	  1	      5 ns/op
`
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	id, err := s.Import(strings.NewReader(text), "old.txt", Run{Name: "old"})
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(id)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		key          string
		block, order int
		metrics      map[string]float64
	}
	want := []line{
		{"Encode/format=json/pkg=example.com%2Fa/sub2=deep/gc=unknown/gomaxprocs=8", 0, 0, map[string]float64{cell.Ops: 690848, cell.OpTime: 1726, cell.OpBytes: 512, cell.OpAllocs: 3}},
		{"Encode/format=json/pkg=example.com%2Fa/sub2=deep/gc=unknown/gomaxprocs=8", 1, 0, map[string]float64{cell.Ops: 684861, cell.OpTime: 1723.5, cell.OpBytes: 512, cell.OpAllocs: 0}},
		{"Plain/pkg=example.com%2Fa/gc=unknown", 0, 1, map[string]float64{cell.Ops: 10, cell.OpTime: 0, "MB/s": 120.5, "widgets": 7}},
		{"Encode/format=json/pkg=example.com%2Fb/sub2=deep/gc=unknown/gomaxprocs=8", 0, 2, map[string]float64{cell.Ops: 1, cell.OpTime: 5}},
		{"Encode/pkg=example.com%2Fb/gc=200/gomaxprocs=8", 0, 3, map[string]float64{cell.Ops: 1, cell.OpTime: 5}},
	}
	for i, rec := range records {
		if got := (line{rec.Cell.Key(), rec.Cell.Block, rec.Cell.Order, rec.Metrics}); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("got  %v\nwant %v", got, want[i])
		}
	}
	if len(records) != len(want) {
		t.Errorf("%d records, want %d", len(records), len(want))
	}
	if w := records[2].Warnings; len(w) != 1 || w[0].Code != "direction" {
		t.Errorf("warnings %v, want one about the direction of widgets", w)
	}
}

func TestImportRefuses(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	for text, want := range map[string]string{
		"":                       "f.txt: no benchmark results",
		"hello\n":                "f.txt: no benchmark results",
		"BenchmarkX x 12 ns/op":  "f.txt:1: ",
		"\n\nBenchmarkX 1 12":    "f.txt:3: ",
		"BenchmarkX 1 a ns/op":   "f.txt:1: ",
		"BenchmarkX 1":           "f.txt:1: ",
		"BenchmarkX 1 NaN ns/op": "f.txt:1: NaN ns/op: want a finite number",
		"BenchmarkX 1 Inf ns/op": "f.txt:1: +Inf ns/op: want a finite number",
		"BenchmarkX 1 2 ns/op\nBenchmarkX 1 2 ns/op 3 ns/op":                               "f.txt:2: two values in ns/op",
		"Unit ns/op better\nBenchmarkX 1 2 ns/op":                                          "f.txt:1: ",
		"Unit a x=1\nUnit a x=2\nBenchmarkX 1 2 a":                                         "f.txt:2: ",
		markPrefix + "\nBenchmarkX 1 2 a":                                                  "f.txt:1: ",
		markPrefix + `"cell":{"workload":"x","block":-1}}` + "\nBenchmarkX 1 2 a":          "f.txt:1: want",
		markPrefix + `"cell":{"workload":"x"},"metrics":{"a b":1}}` + "\nBenchmarkX 1 2 a": "f.txt:1: metric",
		markPrefix + `"cell":{"workload":"x"},"metrics":{"":1}}` + "\nBenchmarkX 1 2 a":    "f.txt:1: metric",
		markPrefix + `"cell":{"workload":"x"},"metrics":{"a":"1"}}` + "\nBenchmarkX 1 2 a": "f.txt:1: ",
		"BenchmarkX 1 2 ns/op\n" + strings.Repeat("x", 100_000):                            "f.txt:1: ",
	} {
		_, err := s.Import(strings.NewReader(text), "f.txt", Run{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
	if runs, err := s.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("a refused file left %v, %v", runs, err)
	}
}

func TestCSV(t *testing.T) {
	s, id, _, records := measured(t, 2)
	rows, err := csv.NewReader(strings.NewReader(export(t, s, id, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := "run cell block key workload size strategy gc twin input command gomaxprocs collector failure metric unit value"; strings.Join(rows[0], " ") != want {
		t.Errorf("header %q, want %q", rows[0], want)
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	got := make(map[string]map[string]float64)
	for _, row := range rows[1:] {
		index := column(row, "cell")
		if got[index] == nil {
			got[index] = make(map[string]float64)
		}
		v, err := strconv.ParseFloat(column(row, "value"), 64)
		if err != nil {
			t.Fatal(err)
		}
		got[index][column(row, "metric")] = v
	}
	for _, rec := range records {
		want, err := stat.Metrics(rec)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got[fmt.Sprint(rec.Cell.Index)], want) {
			t.Errorf("cell %d: %v, want %v", rec.Cell.Index, got[fmt.Sprint(rec.Cell.Index)], want)
		}
	}
	empty := create(t, s, []cell.Cell{{Config: cell.Config{Workload: "w", Params: map[string]string{"metric": "own"}}}})
	if err := s.Append(empty, &cell.Record{Err: &cell.Failure{Kind: cell.FailCrash}}, nil); err != nil {
		t.Fatal(err)
	}
	if text := export(t, s, empty, "csv"); !strings.Contains(text, "factor:metric") || !strings.Contains(text, ",own,0,crash,,,") {
		t.Errorf("a failed cell without figures:\n%s", text)
	}
}

func TestJSON(t *testing.T) {
	s, id, cells, records := measured(t, 2)
	var got struct {
		Run     Run           `json:"run"`
		Cells   []cell.Cell   `json:"cells"`
		Records []*jsonRecord `json:"records"`
	}
	if err := json.Unmarshal([]byte(export(t, s, id, "json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Run.ID != id || got.Run.Seed != 1<<64-1 || !reflect.DeepEqual(got.Cells, cells) {
		t.Errorf("run %+v", got.Run)
	}
	for i, rec := range got.Records {
		if !reflect.DeepEqual(rec.Record, records[i]) {
			t.Errorf("record %d: %+v, want %+v", i, rec.Record, records[i])
		}
		h, err := latency.DecodeHDR(rec.HDR[cell.HistService])
		if err != nil || h.Count() != 100 {
			t.Errorf("record %d: HDR histogram: %v", i, err)
		}
	}
	if err := s.Export(&bytes.Buffer{}, id, "xml"); err == nil || !strings.Contains(err.Error(), "want benchfmt, csv or json") {
		t.Errorf("unknown format: %v", err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(markPrefix + `"cell":{"workload":"w","params":{"a":" b"},"command":["go","vet"],"gc":{"percent":-1,"limit_bytes":9},"block":1,"order":2},"metrics":{"/x:ns":0}}` + "\nBenchmarkW-2 5 1.5 ns/op\n")
	f.Add("pkg: a\nBenchmarkX/a=b/c-8 1 2 ns/op 3 B/op\nUnit q better=higher\n")
	f.Fuzz(func(t *testing.T, text string) {
		im, err := readBenchmarks([]byte(text), "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%v: does not name the file", err)
			}
			return
		}
		if _, err := stat.Analyze(im.cells, im.records); err != nil {
			t.Errorf("imported but not analyzed: %v", err)
		}
		// What was read can be written and read again, including all values.
		var b bytes.Buffer
		if err := exportBenchmarks(&b, Run{Machine: im.machine}, im.cells, im.records); err != nil {
			t.Fatal(err)
		}
		again, err := readBenchmarks(b.Bytes(), "again")
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if values(again) != values(im) {
			t.Errorf("values changed:\n%s\nfrom\n%s\nthrough\n%s", values(again), values(im), &b)
		}
	})
}

func BenchmarkStore10000(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "s.db"))
	cells := testPlan(3334)
	id := create(b, s, cells)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cells {
		if err := s.Append(id, testRecord(c, rng), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("op=list", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Runs(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=analyze", func(b *testing.B) {
		for b.Loop() {
			records, err := s.Records(id)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := stat.Analyze(cells, records); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// values lists the contents of an import, sorted.
func values(im *imported) string {
	var lines []string
	for _, rec := range im.records {
		for metric, v := range rec.Metrics {
			lines = append(lines, fmt.Sprint(rec.Cell.Key(), rec.Cell.Block, metric, math.Float64bits(v)))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
