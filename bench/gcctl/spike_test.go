// Package gcctl compares Isobar's GC controller with the settings of the
// runtime and with other tuners, on the spike workload of the lab: a live heap
// that steps from 50 to 400 MB and back, under a budget of 600 MB.
//
// Each side is a cell of the lab in a fresh process. A tuner that is not ours is
// started in the child before the workload; what it may use is the budget, as
// its own documentation says to give it. Those that this module cannot require
// are rebuilt. Ours runs in each of its modes; Idle and
// Hybrid act when the program tells them of gaps and of sections, of which the
// spike has none. The unit ns/op is wall time per
// operation over all three phases, cpu-ns/op is CPU time; peak-MB and
// phase-1-peak-MB are resident memory, which decides whether a figure counts:
// a side that exceeds the budget has not done the task.
//
// ISOBAR_SPIKE_PHASE sets the length of a phase; it is 5s otherwise.
package gcctl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/bytedance/gopkg/util/gctuner"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

const (
	budget = 600_000_000
	// forced is the interval at which the document's program forces a
	// collection.
	forced = 5 * time.Second
	// memoryCap ends a child that would take the machine down.
	memoryCap = 12 << 30

	tunerEnv = "ISOBAR_BENCH_TUNER"
	phaseEnv = "ISOBAR_SPIKE_PHASE"
	capEnv   = "ISOBAR_BENCH_CAP" // bytes of private memory that the child may have
)

// tuners are started in the child, by the value of tunerEnv.
var tuners = map[string]func(){
	"": func() {},
	// Its documentation recommends 70 % of the limit.
	"bytedance": func() { gctuner.Tuning(budget / 10 * 7) },
	// It sets the runtime's limit once, to 90 % of what there is, where the
	// environment has none.
	"automemlimit": func() {
		os.Unsetenv("GOMEMLIMIT")
		if _, err := memlimit.Set(memlimit.WithProvider(memlimit.Limit(budget)), memlimit.WithRatio(0.9)); err != nil {
			panic(err)
		}
	},
	// The collector is off while a batch is processed. Here batches overlap at
	// every moment, since several goroutines work without a pause.
	"document": func() {
		c := newDocument(forced)
		c.StartScheduledGC(context.Background())
		c.DisableGC()
	},
	"gogctuner":  gogctuner,
	"tidb":       tidbTuner,
	"memlimiter": memlimiter,
}

// A side is one way to control the collector.
type side struct {
	name  string
	tuner string // of tuners
	gc    cell.GC
	mode  string // of our controller
}

var (
	limited    = cell.GC{Percent: 100, LimitBytes: budget}
	offLimited = cell.GC{Percent: -1, LimitBytes: budget}
	// What the runtime's limit is set to so that resident memory stays in the
	// budget: the limit is soft, and leaves out the program's text.
	offLower = cell.GC{Percent: -1, LimitBytes: budget / 100 * 95}
)

var sides = []side{
	{name: "isobar", gc: cell.DefaultGC, mode: "adaptive"},
	{name: "isobar-hybrid", gc: cell.DefaultGC, mode: "hybrid"},
	{name: "isobar-idle", gc: cell.DefaultGC, mode: "idle"},
	{name: "isobar-off", gc: cell.DefaultGC, mode: "off"},
	{name: "isobar-percent300", gc: cell.DefaultGC, mode: "percent=300"},
	{name: "isobar-default", gc: cell.DefaultGC, mode: "default"},
	{name: "gogc100", gc: cell.DefaultGC, mode: "none"},
	{name: "gogc100-limit", gc: limited, mode: "none"},
	{name: "off-limit", gc: offLimited, mode: "none"},
	{name: "off-limit95", gc: offLower, mode: "none"},
	{name: "bytedance", tuner: "bytedance", gc: cell.DefaultGC, mode: "none"},
	{name: "automemlimit", tuner: "automemlimit", gc: cell.DefaultGC, mode: "none"},
	{name: "gogctuner-rebuilt", tuner: "gogctuner", gc: cell.DefaultGC, mode: "none"},
	{name: "tidb-rebuilt", tuner: "tidb", gc: cell.DefaultGC, mode: "none"},
	{name: "memlimiter-rebuilt", tuner: "memlimiter", gc: cell.DefaultGC, mode: "none"},
	{name: "document", tuner: "document", gc: cell.DefaultGC, mode: "none"},
}

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := runChild(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		start, ok := tuners[os.Getenv(tunerEnv)]
		if !ok {
			fmt.Fprintf(os.Stderr, "no tuner %q\n", os.Getenv(tunerEnv))
			os.Exit(2)
		}
		if s := os.Getenv(capEnv); s != "" {
			n, err := strconv.ParseUint(s, 10, 64)
			if err == nil {
				err = capMemory(n)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "no cap of %q: %v\n", s, err)
				os.Exit(2)
			}
		}
		start()
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// params are the spike's under s, with others beside those of s.
func (s side) params(others map[string]string) map[string]string {
	all := map[string]string{"controller": s.mode}
	if s.mode != "none" {
		all["limit"] = fmt.Sprint(budget)
	}
	maps.Copy(all, others)
	return all
}

// run runs the spike once under s, with parameters beside those of s.
func (s side) run(tb testing.TB, params map[string]string) cell.Record {
	tb.Helper()
	tb.Setenv(tunerEnv, s.tuner)
	c := cell.Cell{
		Config:      cell.Config{Workload: "spike", Params: s.params(params), GC: s.gc, GOMAXPROCS: runtime.GOMAXPROCS(0)},
		Seed:        1,
		MemoryBytes: memoryCap,
	}
	rec, _, err := runner.New(runner.Config{Log: os.Stderr}).Run(context.Background(), c)
	if err == nil && rec.Err != nil {
		err = rec.Err
	}
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return rec
}

// BenchmarkSpike is meant for -benchtime 1x: an operation of the benchmark is a
// whole run of three phases; the figures are per operation of the workload.
func BenchmarkSpike(b *testing.B) {
	params := map[string]string{"phase": cmp.Or(os.Getenv(phaseEnv), "5s")}
	for _, s := range sides {
		b.Run("impl="+s.name, func(b *testing.B) {
			sums := map[string]float64{}
			runs := 0.0
			for b.Loop() {
				for unit, v := range figures(s.run(b, params)) {
					sums[unit] += v
				}
				runs++
			}
			for unit, sum := range sums {
				b.ReportMetric(sum/runs, unit)
			}
		})
	}
}

// figures are what a benchmark reports of a run.
func figures(rec cell.Record) map[string]float64 {
	m := rec.Metrics
	ops := m[cell.Ops]
	f := map[string]float64{
		"ns/op":     m[cell.WallTime] * 1e9 / ops,
		"cpu-ns/op": m[cell.TotalCPU] * 1e9 / ops,
		"peak-MB":   m[cell.RSSPeak] / 1e6,
	}
	for i := 1; i <= 3; i++ {
		phase := fmt.Sprintf("phase-%d", i)
		f[phase+"-ops/s"] = m[phase+"/throughput:ops/s"]
		f[phase+"-peak-MB"] = m[phase+"/rss/peak:bytes"] / 1e6
	}
	return f
}

// heldUp is the longest time between two looks at the memory of a run, which come
// every 10 ms: about as long as the machine held it up.
func heldUp(rec cell.Record) (longest time.Duration) {
	at := append(slices.Clone(rec.Timeline.AtNs), int64(rec.Metrics[cell.WallTime]*1e9))
	for i := 1; i < len(at); i++ {
		longest = max(longest, time.Duration(at[i]-at[i-1]))
	}
	return longest
}

// TestSides runs every side for a moment and looks whether it had its effect. The
// phases follow the clock: a run that was held up for half of one says nothing.
func TestSides(t *testing.T) {
	const phase = 400 * time.Millisecond
	params := map[string]string{"low": "4MB", "high": "16MB", "phase": phase.String()}
	want := map[string]func(percent float64) bool{
		"isobar":             func(p float64) bool { return p != 100 },
		"isobar-hybrid":      func(p float64) bool { return p == -1 },
		"isobar-idle":        func(p float64) bool { return p == 100 },
		"isobar-off":         func(p float64) bool { return p == -1 },
		"isobar-percent300":  func(p float64) bool { return p == 300 },
		"isobar-default":     func(p float64) bool { return p == 100 },
		"gogc100":            func(p float64) bool { return p == 100 },
		"gogc100-limit":      func(p float64) bool { return p == 100 },
		"off-limit":          func(p float64) bool { return p == -1 },
		"off-limit95":        func(p float64) bool { return p == -1 },
		"bytedance":          func(p float64) bool { return p > 100 }, // the heap is far below the threshold
		"automemlimit":       func(p float64) bool { return p == 100 },
		"gogctuner-rebuilt":  func(p float64) bool { return p > 100 },
		"tidb-rebuilt":       func(p float64) bool { return p > 100 },
		"memlimiter-rebuilt": func(p float64) bool { return p == 100 },
		"document":           func(p float64) bool { return p == -1 },
	}
	for _, s := range sides {
		rec := s.run(t, params)
		for try := 0; heldUp(rec) > phase/2; try++ {
			if try == 20 {
				t.Fatalf("%s: this machine held it up each time, now for %v", s.name, heldUp(rec))
			}
			rec = s.run(t, params)
		}
		if p := rec.Metrics["/spike/gogc/last:percent"]; !want[s.name](p) {
			t.Errorf("%s: GOGC %v at the end", s.name, p)
		}
		for unit, v := range figures(rec) {
			if math.IsNaN(v) || v <= 0 {
				t.Errorf("%s: %s = %v", s.name, unit, v)
			}
		}
	}
}

// TestDocument holds what the document's controller does when nothing happens
// at once.
func TestDocument(t *testing.T) {
	found := debug.SetGCPercent(200)
	defer debug.SetGCPercent(found)
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	c := newDocument(time.Hour)
	if got := percent(); got != 100 {
		t.Errorf("GOGC %d after its start, want 100: it overrides what it found", got)
	}
	c.DisableGC()
	c.DisableGC()
	c.EnableGC()
	if got := percent(); got != -1 {
		t.Errorf("GOGC %d in a section, want -1", got)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.ForceGC()
	runtime.ReadMemStats(&after)
	if got := percent(); got != -1 || after.NumForcedGC != before.NumForcedGC+1 {
		t.Errorf("GOGC %d and %d forced collections after ForceGC in a section, want -1 and 1", got,
			after.NumForcedGC-before.NumForcedGC)
	}
	c.EnableGC()
	if got := percent(); got != 200 {
		t.Errorf("GOGC %d after the section, want the 200 that it found", got)
	}
	c.StartScheduledGC(t.Context())
	c.StopScheduledGC()
}
