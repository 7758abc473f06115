package stat

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// A model determines the measurements of a simulated run.
type model struct {
	configs []cell.Config
	// figures are the true values; a nil map is a cell that fails.
	figures func(cell.Config) map[string]float64
	blocks  int
	noise   float64
}

func (m model) simulate(rng *rand.Rand) (cells []cell.Cell, recs []*cell.Record) {
	for block := range m.blocks {
		drift := math.Exp(0.03 * rng.NormFloat64())
		for _, i := range rng.Perm(len(m.configs)) {
			c := cell.Cell{Config: m.configs[i], Index: len(cells), Order: i, Block: block}
			cells = append(cells, c)
			rec := &cell.Record{Cell: c}
			figures := m.figures(c.Config)
			if figures == nil {
				rec.Err = &cell.Failure{Kind: cell.FailMemory, Message: "too much"}
			}
			for _, metric := range slices.Sorted(maps.Keys(figures)) {
				rec.Set(metric, figures[metric]*drift*math.Exp(m.noise*rng.NormFloat64()))
			}
			recs = append(recs, rec)
		}
	}
	return cells, recs
}

func withTwin(configs []cell.Config) []cell.Config {
	twin := configs[0]
	twin.Twin = true
	return append(configs, twin)
}

func strategies(names ...string) []cell.Config {
	var configs []cell.Config
	for _, name := range names {
		for _, gc := range []cell.GC{cell.DefaultGC, cell.DisabledGC} {
			configs = append(configs, cell.Config{Workload: "strategies", Params: map[string]string{"strategy": name}, GC: gc})
		}
	}
	return withTwin(configs)
}

func analyze(t *testing.T, m model) *Analysis {
	t.Helper()
	a, err := Analyze(m.simulate(rand.New(rand.NewPCG(1, 2))))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnalyze(t *testing.T) {
	a := analyze(t, model{
		configs: strategies("plain", "arena", "chanpool"),
		blocks:  10, noise: 0.01,
		figures: func(c cell.Config) map[string]float64 {
			f := map[string]float64{cell.OpTime: 100, cell.RSSPeak: 1e7, LatencyMetric(cell.HistService, "p99.9"): 1000}
			switch c.Params["strategy"] {
			case "arena":
				f[cell.OpTime] = 40
			case "chanpool":
				f[cell.OpTime] = 190
			}
			if c.GC.Percent < 0 {
				f[cell.RSSPeak] = 4.1e7
			}
			return f
		},
	})
	var order []string
	for _, g := range a.Groups {
		order = append(order, g.Config.Params["strategy"]+" "+g.Config.GC.String())
		if len(g.Records) != 10 || g.Config.Twin {
			t.Errorf("%s: %d records", g.Key, len(g.Records))
		}
	}
	if got, want := strings.Join(order, ", "), "plain default, plain disabled, arena default, arena disabled, chanpool default, chanpool disabled"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if len(a.Floors) != 3 || len(a.Comparisons) != 5*3 {
		t.Errorf("%d floors, %d comparisons, want 3 and 15", len(a.Floors), len(a.Comparisons))
	}
	for _, c := range a.Comparisons {
		if c.Floor <= 1 || c.Floor > 1.1 {
			t.Errorf("%s: floor %v", c.Metric, c.Floor)
		}
	}
	text := strings.Join(a.Findings, "\n")
	for _, want := range []string{
		"strategies: disabling the GC cost 4.1x the memory [4.",
		"brought no measurable change in time per operation or p99.9 service time here (against gc=default).",
		"strategies: under gc=default arena relieved most: 0.40x the time per operation of plain [0.",
		"; worse: chanpool 1.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
}

// TestStudiesHaveBaselines: several studies of one workload are each compared with their own
// baseline, under their own noise floor.
func TestStudiesHaveBaselines(t *testing.T) {
	var configs []cell.Config
	for study, names := range map[string][]string{"strategies 1": {"plain", "arena"}, "strategies 2": {"slab", "pool"}} {
		part := []cell.Config{}
		for _, name := range names {
			part = append(part, cell.Config{Workload: "strategies", Study: study, Params: map[string]string{"strategy": name}, GC: cell.DefaultGC})
		}
		configs = append(configs, withTwin(part)...)
	}
	a := analyze(t, model{configs: configs, blocks: 8, noise: 0.01, figures: func(c cell.Config) map[string]float64 {
		return map[string]float64{cell.OpTime: map[string]float64{"plain": 100, "arena": 50, "slab": 1000, "pool": 250}[c.Params["strategy"]]}
	}})
	if len(a.Comparisons) != 2 || len(a.Floors) != 2 {
		t.Fatalf("%d comparisons and %d floors, want 2 of each", len(a.Comparisons), len(a.Floors))
	}
	for _, c := range a.Comparisons {
		want := map[bool]float64{true: 0.5, false: 0.25}[strings.Contains(c.B, "arena")]
		if math.Abs(c.Ratio-want) > 0.02 {
			t.Errorf("%s is %.3g of %s, want %v", c.B, c.Ratio, c.A, want)
		}
	}
	for _, want := range []string{"strategies 1: arena cut", "strategies 2: pool cut"} {
		if !strings.Contains(strings.Join(a.Findings, "\n"), want) {
			t.Errorf("findings lack %q: %q", want, a.Findings)
		}
	}
}

func TestFindings(t *testing.T) {
	market := func(pools ...string) []cell.Config {
		var configs []cell.Config
		for _, pool := range pools {
			configs = append(configs, cell.Config{Workload: "market", Params: map[string]string{"pool": pool}, GC: cell.DefaultGC})
		}
		return withTwin(configs)
	}
	gcs := withTwin([]cell.Config{{Workload: "alloc", GC: cell.DefaultGC}, {Workload: "alloc", GC: cell.TunedGC}, {Workload: "alloc", GC: cell.GC{Name: "disabled", Percent: -1, LimitBytes: 1 << 30}}})
	response := LatencyMetric(cell.HistResponse, "p99.9")
	for _, test := range []struct {
		name string
		m    model
		want []string
	}{
		{"two levels", model{configs: market("off", "on"), blocks: 8, noise: 0.01, figures: func(c cell.Config) map[string]float64 {
			if c.Params["pool"] == "on" {
				return map[string]float64{response: 50, cell.RSSPeak: 1}
			}
			return map[string]float64{response: 100, cell.RSSPeak: 1}
		}}, []string{"market: pool=on cut the p99.9 response time to 0.5", "and made no measurable difference in memory (against pool=off)."}},
		{"nothing", model{configs: market("off", "on"), blocks: 8, noise: 0.01, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{response: 100, cell.RSSPeak: 1}
		}}, []string{"market: pool=on made no measurable difference in memory or p99.9 response time (against pool=off)."}},
		{"ranking without a winner", model{configs: strategies("plain", "arena", "slab"), blocks: 8, noise: 0.01, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{cell.OpTime: 100}
		}}, []string{"strategies: under gc=default nothing provably needs less time per operation than plain; no difference shown: arena and slab."}},
		{"time is noise, CPU is not", model{configs: strategies("plain", "arena", "slab"), blocks: 8, noise: 0.01, figures: func(c cell.Config) map[string]float64 {
			f := map[string]float64{cell.OpTime: 100, cell.OpCPU: 100}
			if c.Params["strategy"] == "arena" {
				f[cell.OpCPU] = 30
			}
			return f
		}}, []string{"strategies: under gc=default arena relieved most: 0.3", "x the CPU time per operation of plain [0.", "; no difference shown: slab; nothing is proven for time per operation."}},
		{"too few blocks", model{configs: gcs, blocks: 3, noise: 0.01, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{cell.OpTime: 100}
		}}, []string{"alloc: nothing is proven: 3 repetitions are too few for a verdict (--reps 4 or more)."}},
		{"killed", model{configs: gcs, blocks: 8, noise: 0.01, figures: func(c cell.Config) map[string]float64 {
			if c.GC.Percent < 0 {
				return nil
			}
			return map[string]float64{cell.OpTime: 100, cell.RSSPeak: float64(c.GC.Percent)}
		}}, []string{"alloc: with gc=disabled:1GiB every cell failed (memory).", "alloc: GOGC=500 cost 5.0x the memory ["}},
		{"dead baseline", model{configs: gcs, blocks: 8, figures: func(cell.Config) map[string]float64 { return nil }},
			[]string{"alloc: every cell of the baseline failed (memory): nothing can be compared."}},
		{"never collected", model{configs: gcs, blocks: 8, noise: 0.01, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{cell.WallTime: 100, cell.GCCycles: 0}
		}}, []string{"alloc: no collection was seen under any setting of the collector: "}},
		{"a collection that did not end", model{configs: gcs[:2], blocks: 8, noise: 0.01, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{cell.WallTime: 100, cell.GCCycles: 0, cell.GCCPUShare: 0.02}
		}}, []string{"alloc: GOGC=500 made no measurable difference in wall time (against gc=default)."}},
		{"one configuration", model{configs: gcs[:1], blocks: 8, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{cell.OpTime: 100}
		}}, nil},
		{"no headline figure", model{configs: gcs[:2], blocks: 8, figures: func(cell.Config) map[string]float64 {
			return map[string]float64{"/x:y": 100}
		}}, []string{"alloc: GOGC=500 proved nothing: no figure to compare (against gc=default)."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := analyze(t, test.m)
			text := strings.Join(a.Findings, "\n")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("findings lack %q", want)
				}
			}
			if len(test.want) == 0 && text != "" {
				t.Error("unexpected findings")
			}
			t.Log(text)
		})
	}
}

func TestAnalyzeDoubts(t *testing.T) {
	cells, recs := model{
		configs: strategies("plain", "arena"), blocks: 6, noise: 0.01,
		figures: func(c cell.Config) map[string]float64 {
			f := map[string]float64{cell.OpTime: 100, cell.MajorFaults: 0}
			if c.Twin {
				f[cell.OpTime] = 150
			}
			return f
		},
	}.simulate(rand.New(rand.NewPCG(3, 4)))
	for _, rec := range recs {
		rec.Warn("steal", "much")
	}
	recs[0].Warn("few-gc", "one cycle")
	recs[1].Err = &cell.Failure{Kind: cell.FailCrash}
	recs = recs[:len(recs)-2]
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	if a.Missing != 2 {
		t.Errorf("missing %d, want 2", a.Missing)
	}
	var codes []string
	for _, w := range a.Warnings {
		codes = append(codes, w.Code)
	}
	if got := strings.Join(codes, " "); got != "missing failed a/a steal few-gc" {
		t.Errorf("warnings %v", a.Warnings)
	}
	if last := a.Warnings[3]; last.Records != len(recs) {
		t.Errorf("%+v, want %d records", last, len(recs))
	}
	for _, c := range a.Comparisons {
		if c.Metric == cell.OpTime && (c.Floor < 1.4 || c.Verdict == Better || c.Verdict == Worse) {
			t.Errorf("%+v: the twin differed by half", c)
		}
	}
	stray := *recs[0]
	stray.Cell.Workload = "other"
	if _, err := Analyze(cells, []*cell.Record{&stray}); err == nil || !strings.Contains(err.Error(), "not in the plan") {
		t.Errorf("a record out of plan: %v", err)
	}
	if empty, err := Analyze(nil, nil); err != nil || len(empty.Groups) != 0 {
		t.Errorf("%+v, %v", empty, err)
	}
}

func TestFloorIsBounded(t *testing.T) {
	base := groupOf("a", cell.GCCycles, 0, 1, 0, 1, 0, 1)
	a := &Analysis{Groups: []*Group{base}, Floors: []Comparison{
		Compare(base, groupOf("a/twin", cell.GCCycles, 1, 0, 1, 0, 1, 0), cell.GCCycles, 1),
		{A: "a", Metric: cell.OpTime, Pairs: 5, Lo: 0.8, Hi: 1.1},
		{A: "a", Metric: cell.OpCPU, Lo: math.NaN(), Hi: math.NaN()},
	}}
	f := a.floors()
	for metric, want := range map[string]float64{cell.GCCycles: maxFloor, cell.OpTime: 1.25, cell.OpCPU: 1, cell.WallTime: 1} {
		if got := f.of(base, metric, allMachines); got != want {
			t.Errorf("%s: floor %v, want %v", metric, got, want)
		}
	}
}

func TestCompareRuns(t *testing.T) {
	figures := func(factor float64) func(cell.Config) map[string]float64 {
		return func(c cell.Config) map[string]float64 {
			return map[string]float64{cell.OpTime: 100 * factor, "custom/op": 5}
		}
	}
	a := analyze(t, model{configs: strategies("plain", "arena"), blocks: 8, noise: 0.01, figures: figures(1)})
	b := analyze(t, model{configs: strategies("plain", "slab"), blocks: 8, noise: 0.01, figures: figures(1.5)})
	comparisons := CompareRuns(a, b)
	if len(comparisons) != 4 {
		t.Fatalf("%d comparisons, want 2 configurations x 2 metrics", len(comparisons))
	}
	for _, c := range comparisons {
		if c.A != c.B || c.Pairs != 8 {
			t.Errorf("%+v", c)
		}
		if want := map[string]Verdict{cell.OpTime: Worse, "custom/op": NoDifference}[c.Metric]; c.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", c.Metric, c.Verdict, c.Reason, want)
		}
	}
	onlyA, onlyB := Unmatched(a, b)
	if len(onlyA) != 2 || !strings.Contains(onlyA[0], "strategy=arena") || len(onlyB) != 2 || !strings.Contains(onlyB[0], "strategy=slab") {
		t.Errorf("unmatched %v, %v", onlyA, onlyB)
	}
}

// TestMergedLatency: a group's figure comes from the merged histogram, and quantiles
// of few values get a warning.
func TestMergedLatency(t *testing.T) {
	var cells []cell.Cell
	var recs []*cell.Record
	all := new(latency.Histogram)
	rng := rand.New(rand.NewPCG(1, 1))
	for block := range 6 {
		for i, gc := range []cell.GC{cell.DefaultGC, cell.TunedGC} {
			c := cell.Cell{Config: cell.Config{Workload: "w", GC: gc}, Index: len(cells), Order: i, Block: block}
			h := new(latency.Histogram)
			for range 2000 {
				d := time.Duration(rng.ExpFloat64() * 1e5)
				h.Record(d)
				if i == 0 {
					all.Record(d)
				}
			}
			data, err := h.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, c)
			recs = append(recs, &cell.Record{Cell: c, Latency: map[string][]byte{cell.HistService: data},
				Buckets: map[string]cell.Buckets{cell.HistSched: {Lower: []float64{0, 1}, Upper: []float64{1, 2}, Count: []uint64{uint64(block), 1}}}})
		}
	}
	a, err := Analyze(cells, recs)
	if err != nil {
		t.Fatal(err)
	}
	g := a.Groups[0]
	if merged := g.Latency[cell.HistService]; merged.Count() != all.Count() || merged.Max() != all.Max() {
		t.Errorf("merged %d values, want %d", merged.Count(), all.Count())
	}
	if want := (cell.Buckets{Lower: []float64{0, 1}, Upper: []float64{1, 2}, Count: []uint64{15, 6}}); !reflect.DeepEqual(g.Buckets[cell.HistSched], want) {
		t.Errorf("merged buckets %+v, want %+v", g.Buckets[cell.HistSched], want)
	}
	for _, c := range a.Comparisons {
		switch c.Metric {
		case LatencyMetric(cell.HistService, "p99.9"):
			if c.AValue != float64(all.Quantile(0.999)) {
				t.Errorf("p99.9 %v, of all values together %v", c.AValue, all.Quantile(0.999))
			}
			if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "fewer than 10") {
				t.Errorf("p99.9 of 2000 values: warnings %q", c.Warnings)
			}
		case LatencyMetric(cell.HistService, "p99"):
			if len(c.Warnings) != 0 {
				t.Errorf("p99 of 2000 values: warnings %q", c.Warnings)
			}
		}
	}
}

func BenchmarkAnalyze10000(b *testing.B) {
	cells, recs := model{configs: strategies("plain", "arena", "slab", "pool", "chan"), blocks: 910, noise: 0.01, figures: func(cell.Config) map[string]float64 {
		f := make(map[string]float64)
		for _, metric := range Headline {
			f[metric] = 100
		}
		return f
	}}.simulate(rand.New(rand.NewPCG(1, 2)))
	for b.Loop() {
		if _, err := Analyze(cells, recs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(recs)), "records")
}
