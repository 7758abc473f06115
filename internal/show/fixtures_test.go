package show_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/latency"
)

func fixtureMeta() cell.Run {
	return cell.Run{
		ID: 3, Name: "golden", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Args: []string{"lab", "run"},
		Version: "v1.2.3",
		Machine: cell.Machine{OS: "linux", Arch: "amd64", CPU: "A CPU", CPUs: 2, MemoryBytes: 8 << 30, GoVersion: "go1.26.8"},
		Seed:    1<<64 - 1, Finished: 30, Total: 32, Failed: 1,
	}
}

func seriesOf(metric string, values ...float64) stat.Series {
	s := stat.Series{Metric: metric, Values: values}
	for i := range values {
		s.Blocks = append(s.Blocks, i)
	}
	return s
}

// groupOf makes a configuration with six repetitions and known figures.
func groupOf(workload, strategy string, gc cell.GC, ns float64) *stat.Group {
	g := &stat.Group{Config: cell.Config{Workload: workload,
		Params: map[string]string{"size": "1024", "strategy": strategy}, GC: gc}}
	g.Key = g.Config.Key()
	g.Series = map[string]stat.Series{
		cell.OpTime:          seriesOf(cell.OpTime, ns-2, ns-1, ns, ns, ns+1, ns+3),
		cell.Throughput:      seriesOf(cell.Throughput, 1e9/ns, 1e9/ns, 1e9/ns, 1e9/ns),
		cell.RSSPeak:         seriesOf(cell.RSSPeak, 30<<20, 31<<20),
		cell.GCCPUShare:      seriesOf(cell.GCCPUShare, 0.2),
		"/own/thing:widgets": seriesOf("/own/thing:widgets", 12, 12, 13, 14, 15, 90),
	}
	var h latency.Histogram
	for i := range 2000 {
		h.Record(time.Duration(ns) * time.Duration(1+i/1990*i))
	}
	g.Latency = map[string]*latency.Histogram{cell.HistService: &h}
	for _, q := range stat.Quantiles {
		metric := stat.LatencyMetric(cell.HistService, q.Name)
		g.Series[metric] = seriesOf(metric, float64(h.Quantile(q.Q)))
	}
	g.Buckets = map[string]cell.Buckets{cell.HistPause: {Lower: []float64{0, 1e-5, 2e-5},
		Upper: []float64{1e-6, 2e-5, 4e-5}, Count: []uint64{1, 40, 9}}}
	for block := range 6 {
		rec := &cell.Record{Cell: cell.Cell{Config: g.Config, Block: block}, Metrics: map[string]float64{cell.GCCycles: 4}}
		rec.Noise = cell.Noise{Steal: 0.001 * float64(block), CPUPressure: -1, MemoryPressure: -1, OtherCPU: 0.1}
		rec.Timeline = cell.Timeline{AtNs: []int64{0, 5e8, 1e9}, HeapBytes: []int64{1 << 20, 4 << 20, 2 << 20},
			GoalBytes: []int64{4 << 20, 4 << 20, math.MaxInt64}}
		rec.Pauses = []cell.Pause{{AtNs: 5e8, Ns: 30000}}
		g.Records = append(g.Records, rec)
	}
	return g
}

func fixture() *stat.Analysis {
	base, pooled := groupOf("strategies", "plain", cell.DefaultGC, 900), groupOf("strategies", "syncpool", cell.DefaultGC, 500)
	off, pooledOff := groupOf("strategies", "plain", cell.DisabledGC, 940),
		groupOf("strategies", "syncpool", cell.DisabledGC, 498)
	off.Failures = []*cell.Record{{Cell: cell.Cell{Config: off.Config, Block: 4},
		Err: &cell.Failure{Kind: cell.FailMemory, Message: "2.1 GiB"}}}
	compare := func(b *stat.Group, metric string, ratio float64, v stat.Verdict) stat.Comparison {
		return stat.Comparison{Metric: metric, A: base.Key, B: b.Key, AValue: 900, BValue: 900 * ratio, Ratio: ratio,
			Lo: ratio * 0.98, Hi: ratio * 1.02,
			P: 0.002, Pairs: 6, Floor: 1.02, Verdict: v, Reason: "made up"}
	}
	undecided := compare(off, cell.OpTime, 1.02, stat.NoDifference)
	undecided.P, undecided.Warnings = 0.31, []string{"2 of 6 ratios are infinite"}
	floor := compare(base, cell.OpTime, 1.005, stat.NoDifference)
	floor.B += "/twin=aa"
	return &stat.Analysis{
		Groups: []*stat.Group{base, pooled, off, pooledOff,
			groupOf("single", "plain", cell.GC{Percent: 50, LimitBytes: 1 << 30}, 12)},
		Comparisons: []stat.Comparison{
			compare(pooled, cell.OpTime, 0.5556, stat.Better), undecided, compare(off, cell.RSSPeak, 4.1, stat.Worse),
			compare(pooledOff, cell.OpTime, 0.553, stat.Better),
		},
		Floors: []stat.Comparison{floor},
		Warnings: []stat.CountedWarning{
			{Warning: cell.Warning{Code: "missing", Text: "1 planned cell has no record: the run is incomplete"}},
			{Warning: cell.Warning{Code: "steal", Text: "others had the CPU"}, Records: 2},
			{Warning: cell.Warning{Code: "run", Text: "a doubt about all of it"}}},
		Findings: []string{"strategies: syncpool needs 0.56× [0.54, 0.57] of the time of plain.",
			"strategies: disabling the GC cost 4.1× the memory and brought no measurable change."},
		Missing: 1,
	}
}

// scalingStudy is a made-up study: throughput of two profiles, doubled by
// GOGC=400.
func scalingStudy(t *testing.T, goroutines, gcs []string) *stat.Analysis {
	t.Helper()
	var cells []cell.Cell
	var records []*cell.Record
	for block := range 4 {
		for _, profile := range []string{"json", "trees"} {
			for i, n := range goroutines {
				for k, setting := range gcs {
					gc, err := cell.ParseGC(setting)
					if err != nil {
						t.Fatal(err)
					}
					c := cell.Cell{Config: cell.Config{Workload: "scaling",
						Params: map[string]string{"goroutines": n, "profile": profile}, GC: gc}, Index: len(cells), Block: block}
					rec := &cell.Record{Cell: c}
					rec.Set(cell.Throughput, float64((i+1)*(k+1))*1000)
					rec.Set(cell.OpTime, 1e6/float64((i+1)*(k+1)))
					cells, records = append(cells, c), append(records, rec)
				}
			}
		}
	}
	a, err := stat.Analyze(cells, records)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", file, got)
	}
}
