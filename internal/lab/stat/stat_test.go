package stat

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// groupOf returns a group with one metric, one value per block from block 0.
func groupOf(key, metric string, values ...float64) *Group {
	s := Series{Metric: metric, Values: values}
	for i := range values {
		s.Blocks = append(s.Blocks, i)
	}
	return &Group{Key: key, Series: map[string]Series{metric: s}}
}

func TestCompareTable(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name    string
		metric  string
		a, b    []float64
		floor   float64
		verdict Verdict
		ratio   float64
	}{
		{"worse", cell.OpTime, []float64{100, 101, 99, 100, 102, 98}, []float64{121, 120, 119, 122, 121, 118}, 1, Worse, 1.2},
		{"better", cell.OpTime, []float64{100, 101, 99, 100, 102}, []float64{81, 80, 79, 80, 80}, 1, Better, 0.8},
		{"higher is better", cell.Throughput, []float64{100, 101, 99, 100, 102}, []float64{121, 120, 119, 122, 121}, 1, Better, 1.2},
		{"rate of an import", "MB/s", []float64{100, 101, 99, 100, 102}, []float64{81, 80, 79, 80, 80}, 1, Worse, 0.8},
		{"within the floor", cell.OpTime, []float64{100, 101, 99, 100, 102}, []float64{121, 120, 119, 122, 121}, 1.3, NoDifference, 1.2},
		{"floor below 1 is none", cell.OpTime, []float64{100, 101, 99, 100, 102}, []float64{121, 120, 119, 122, 121}, 0, Worse, 1.2},
		{"faster, within the floor", cell.OpTime, []float64{121, 120, 119, 122, 121}, []float64{100, 101, 99, 100, 102}, 1.3, NoDifference, 1 / 1.2},
		{"interval includes 1", cell.OpTime, []float64{100, 100, 100, 100, 100}, []float64{110, 120, 99, 110, 120}, 1, NoDifference, 1.1},
		{"rank test disagrees", cell.OpTime, []float64{100, 200, 300, 400, 500}, []float64{101, 202, 303, 404, 505}, 1, NoDifference, 1.01},
		{"pairs see through drift", cell.OpTime, []float64{100, 200, 300, 400, 500, 600}, []float64{110, 220, 330, 440, 550, 660}, 1, Worse, 1.1},
		{"equal", cell.OpTime, []float64{5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5}, 1, NoDifference, 1},
		{"3 pairs", cell.OpTime, []float64{1, 1, 1}, []float64{9, 9, 9}, 1, Inconclusive, 9},
		{"1 pair", cell.OpTime, []float64{1}, []float64{9}, 1, Inconclusive, 9},
		{"4 pairs", cell.OpTime, []float64{10, 11, 12, 13}, []float64{91, 90, 92, 93}, 1, Worse, 7.91},
		{"both zero", cell.OpAllocs, []float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0}, 1, NoDifference, 1},
		{"zero to one", cell.OpAllocs, []float64{0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, 1, 1}, 1, Worse, inf},
		{"one to zero", cell.OpAllocs, []float64{1, 1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0, 0}, 1, Better, 0},
		{"zero to one, 4 pairs", cell.OpAllocs, []float64{0, 0, 0, 0}, []float64{1, 1, 1, 1}, 1, Worse, inf},
		{"one stray count", cell.OpAllocs, []float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 1}, 1, NoDifference, 1},
		{"a mixture with zeros", cell.GCCycles, []float64{0, 1, 0, 1, 0, 1}, []float64{1, 0, 1, 0, 1, 0}, 1, NoDifference, inf},
		{"negative", "/x:y", []float64{-1, -1, -1, -1, -1, -1}, []float64{1, 1, 1, 1, 1, 1}, 1, Inconclusive, math.NaN()},
		{"nothing", cell.OpTime, nil, []float64{1, 2, 3, 4}, 1, Inconclusive, math.NaN()},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Compare(groupOf("a", test.metric, test.a...), groupOf("b", test.metric, test.b...), test.metric, test.floor)
			if c.Verdict != test.verdict || c.Reason == "" {
				t.Errorf("verdict %q (%s), want %q", c.Verdict, c.Reason, test.verdict)
			}
			if same := c.Ratio == test.ratio || math.IsNaN(c.Ratio) && math.IsNaN(test.ratio); !same && !(math.Abs(c.Ratio-test.ratio) < 0.01*test.ratio) {
				t.Errorf("ratio %v, want about %v", c.Ratio, test.ratio)
			}
			if c.Lo > c.Ratio || c.Hi < c.Ratio {
				t.Errorf("ratio %v outside its interval [%v, %v]", c.Ratio, c.Lo, c.Hi)
			}
			if c.Floor < 1 {
				t.Errorf("floor %v", c.Floor)
			}
		})
	}
}

func TestPairingIsByBlock(t *testing.T) {
	a := &Group{Key: "a", Series: map[string]Series{"m": {Blocks: []int{0, 1, 2, 5}, Values: []float64{1, 2, 3, 4}}}}
	b := &Group{Key: "b", Series: map[string]Series{"m": {Blocks: []int{5, 2, 1, 9}, Values: []float64{8, 6, 4, 100}}}}
	if c := Compare(a, b, "m", 1); c.Pairs != 3 || c.Ratio != 2 || c.Lo != 2 || c.Hi != 2 {
		t.Errorf("%+v, want 3 pairs of ratio 2", c)
	}
	if c := Compare(a, groupOf("b", "other", 1), "m", 1); c.Pairs != 0 || c.Verdict != Inconclusive {
		t.Errorf("no block in common: %+v", c)
	}
}

func TestSummarize(t *testing.T) {
	for _, test := range []struct {
		values   []float64
		want     Summary
		warnings int
	}{
		{nil, Summary{}, 1},
		{[]float64{3}, Summary{N: 1, Median: 3, Lo: 3, Hi: 3}, 1},
		{[]float64{3, 1}, Summary{N: 2, Median: 2, Lo: 1, Hi: 3}, 1},
		{[]float64{5, 1, 3}, Summary{N: 3, Median: 3, Lo: 1, Hi: 5}, 1},
		{[]float64{6, 5, 4, 3, 2, 1}, Summary{N: 6, Median: 3.5, Lo: 1, Hi: 6}, 0},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, Summary{N: 9, Median: 5, Lo: 2, Hi: 8}, 0},
	} {
		given := slices.Clone(test.values)
		got := Summarize(Series{Values: given})
		if len(got.Warnings) != test.warnings {
			t.Errorf("%v: warnings %q, want %d", test.values, got.Warnings, test.warnings)
		}
		if !slices.Equal(given, test.values) {
			t.Error("the series was changed")
		}
		got.Warnings = nil
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %+v, want %+v", test.values, got, test.want)
		}
	}
}

// TestBootstrapAgainstSimulation compares the exact distribution with a simulation.
func TestBootstrapAgainstSimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 10, 11, 20, 101} {
		total := 0.0
		for _, o := range bootstrapDistribution(n) {
			total += o.p
		}
		if math.Abs(total-1) > 1e-6 {
			t.Errorf("n=%d: probabilities add up to %v", n, total)
		}
		values := make([]float64, n)
		for i := range values {
			values[i] = rng.Float64()
		}
		slices.Sort(values)
		const resamples = 20_000
		medians := make([]float64, resamples)
		resample := make([]float64, n)
		for i := range medians {
			for j := range resample {
				resample[j] = values[rng.IntN(n)]
			}
			slices.Sort(resample)
			medians[i] = median(resample)
		}
		slices.Sort(medians)
		lo, hi := bootstrapMedian(values)
		// Where the exact interval ends, the simulated share of medians
		// beyond must be just below 2.5 %, and at or beyond just above.
		share := func(f func(float64) bool) float64 {
			count := 0
			for _, m := range medians {
				if f(m) {
					count++
				}
			}
			return float64(count) / resamples
		}
		const slack = 0.004 // three standard errors
		if out, in := share(func(m float64) bool { return m < lo }), share(func(m float64) bool { return m <= lo }); out > 0.025+slack || in < 0.025-slack {
			t.Errorf("n=%d: %v of simulated medians below lo, %v at or below", n, out, in)
		}
		if out, in := share(func(m float64) bool { return m > hi }), share(func(m float64) bool { return m >= hi }); out > 0.025+slack || in < 0.025-slack {
			t.Errorf("n=%d: %v of simulated medians above hi, %v at or above", n, out, in)
		}
	}
}

// TestSignedRank compares with enumeration of all signs, and with tables
// (Wilcoxon 1945: n=6, all of one sign, two-sided p = 2/64).
func TestSignedRank(t *testing.T) {
	for _, test := range []struct {
		d []float64
		p float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6}, 2.0 / 64},
		{[]float64{-1, 2, 3, 4, 5, 6}, 4.0 / 64},
		{[]float64{1, -1, 0, 0}, 1},
		{nil, 1},
		{[]float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}, 2.0 / 64},
	} {
		if p := signedRank(test.d); math.Abs(p-test.p) > 1e-12 {
			t.Errorf("signedRank(%v) = %v, want %v", test.d, p, test.p)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		d := make([]float64, 1+rng.IntN(9))
		for i := range d {
			d[i] = float64(rng.IntN(9) - 4) // ties and zeros
		}
		if got, want := signedRank(d), enumerateSigns(d); math.Abs(got-want) > 1e-9 {
			t.Errorf("signedRank(%v) = %v, by enumeration %v", d, got, want)
		}
	}
	long := make([]float64, 51)
	for i := range long {
		long[i] = rng.NormFloat64() + 0.3
	}
	if exact, normal := signedRank(long[:50]), signedRank(long); math.Abs(exact-normal) > 0.05 {
		t.Errorf("exact %v beside normal %v", exact, normal)
	}
}

func enumerateSigns(d []float64) float64 {
	var abs []float64
	for _, x := range d {
		if x != 0 {
			abs = append(abs, math.Abs(x))
		}
	}
	n := len(abs)
	rank := func(x float64) float64 {
		below, equal := 0, 0
		for _, y := range abs {
			if y < x {
				below++
			} else if y == x {
				equal++
			}
		}
		return float64(below) + float64(equal+1)/2
	}
	center := float64(n*(n+1)) / 4
	observed := 0.0
	for _, x := range d {
		if x > 0 {
			observed += rank(x)
		}
	}
	extreme := 0
	for signs := range 1 << n {
		sum := 0.0
		for i, x := range abs {
			if signs>>i&1 == 1 {
				sum += rank(x)
			}
		}
		if math.Abs(sum-center) >= math.Abs(observed-center)-1e-12 {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<n)
}

// TestErrorRates simulates equal and unequal configurations: lognormal noise of
// 2 %, drift of 10 % from block to block.
func TestErrorRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	simulate := func(blocks int, effect float64) bool {
		var a, b, twin []float64
		for range blocks {
			drift := 100 * math.Exp(0.1*rng.NormFloat64())
			noise := func() float64 { return drift * math.Exp(0.02*rng.NormFloat64()) }
			a, twin, b = append(a, noise()), append(twin, noise()), append(b, effect*noise())
		}
		ga := groupOf("a", cell.OpTime, a...)
		aa := Compare(ga, groupOf("twin", cell.OpTime, twin...), cell.OpTime, 1)
		c := Compare(ga, groupOf("b", cell.OpTime, b...), cell.OpTime, max(aa.Hi, 1/aa.Lo))
		return c.Verdict == Better || c.Verdict == Worse
	}
	const runs = 1000
	rate := func(blocks int, effect float64) float64 {
		found := 0
		for range runs {
			if simulate(blocks, effect) {
				found++
			}
		}
		return float64(found) / runs
	}
	for _, blocks := range []int{4, 5, 6, 10, 20} {
		if r := rate(blocks, 1); r > 0.03 {
			t.Errorf("%d blocks: a difference was seen in %.1f %% of A/A comparisons, want at most 3 %%", blocks, 100*r)
		} else {
			t.Logf("%d blocks: false verdicts %.2f %%, 10 %% effect found %.1f %%", blocks, 100*r, 100*rate(blocks, 1.1))
		}
	}
	if r := rate(10, 1.1); r < 0.95 {
		t.Errorf("an effect of 10 %% was found in %.1f %% of runs with 10 blocks, want 95 %%", 100*r)
	}
}

func TestMetricsOfHistograms(t *testing.T) {
	var h latency.Histogram
	for i := range 1000 {
		h.Record(time.Duration(i + 1))
	}
	data, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	rec := &cell.Record{
		Latency: map[string][]byte{cell.HistService: data},
		Buckets: map[string]cell.Buckets{cell.HistPause: {Lower: []float64{0, 1e-6}, Upper: []float64{1e-6, 4e-6}, Count: []uint64{99, 1}}},
	}
	rec.Set(cell.OpTime, 7)
	got, err := Metrics(rec)
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]float64{
		cell.OpTime:                  7,
		"/latency/service/mean:ns":   500, // whole nanoseconds
		"/latency/service/min:ns":    1,
		"/latency/service/p50:ns":    500,
		"/latency/service/p99.9:ns":  999,
		"/latency/service/p99.99:ns": 999,
		"/latency/service/max:ns":    1000,
		"/latency/pause/p50:ns":      1000,
		"/latency/pause/p99:ns":      1000,
		"/latency/pause/p99.9:ns":    4000,
		"/latency/pause/max:ns":      4000,
	} {
		if v, ok := got[metric]; !ok || math.Abs(v-want) > 1 {
			t.Errorf("%s = %v, want %v", metric, v, want)
		}
	}
	if len(rec.Metrics) != 1 {
		t.Error("the record was changed")
	}
	rec.Latency[cell.HistResponse] = []byte("damaged")
	if _, err := Metrics(rec); err == nil {
		t.Error("a damaged histogram went unnoticed")
	}
}

func TestDistinct(t *testing.T) {
	for _, tc := range []struct {
		v        float64
		decimals int
		bounds   []float64
		want     string
	}{
		{0.94, 2, []float64{1}, "0.94"}, {0.996, 2, []float64{1}, "0.996"}, {0.99996, 2, []float64{1}, "0.99996"},
		{1, 2, []float64{1}, "1.00"}, {1.0004, 2, []float64{1}, "1.0004"}, {0.981, 2, []float64{0.98, 1}, "0.981"},
		{0.2, 0, []float64{0}, "0.2"}, {-0.04, 0, []float64{0}, "-0.04"}, {0, 0, []float64{0}, "0"}, {12.4, 0, []float64{0}, "12"},
		{math.NaN(), 2, []float64{1}, "NaN"}, {math.Inf(1), 2, []float64{1}, "+Inf"}, {0.996, 2, nil, "1.00"},
	} {
		if got := Distinct(tc.v, tc.decimals, tc.bounds...); got != tc.want {
			t.Errorf("%v with %d decimals apart from %v is %s, want %s", tc.v, tc.decimals, tc.bounds, got, tc.want)
		}
	}
}
