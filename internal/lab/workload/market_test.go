package workload

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/tick"
)

func TestMarketDelivers(t *testing.T) {
	g := given{"tickrate": "30_000", "duration": "100ms", "symbols": "10"}
	sum, dues, err := driveOpen(build(t, "market", g, 1).(Open))
	if err != nil || len(dues) != 3000 {
		t.Fatalf("%d ticks, %v; want 3000", len(dues), err)
	}
	for i, due := range dues {
		if want := time.Duration(int64(i) * 1e9 / 30_000); due != want {
			t.Fatalf("tick %d is due at %v, want %v", i, due, want)
		}
	}
	pooled := given{"pool": "on"}
	for k, v := range g {
		pooled[k] = v
	}
	for name, task := range map[string]Task{"again": build(t, "market", g, 1), "pooled": build(t, "market", pooled, 1)} {
		if got, _, _ := driveOpen(task.(Open)); got != sum {
			t.Errorf("%s: checksum %#x, want %#x", name, got, sum)
		}
	}
	if got, _, _ := driveOpen(build(t, "market", g, 2).(Open)); got == sum {
		t.Error("another seed, the same checksum")
	}
}

func TestMarketKeepsStatistics(t *testing.T) {
	file := writeTicks(t, []tick.Tick{
		{Symbol: "A", TimeNs: 10, Price: 10, Volume: 1},
		{Symbol: "B", TimeNs: 11, Price: -5, Volume: 0},
		{Symbol: "A", TimeNs: 12, Price: 30, Volume: 3},
		{Symbol: "A", TimeNs: 13, Price: 20, Volume: 0},
	})
	m := build(t, "market", given{"input": file}, 1).(*market)
	if _, _, err := driveOpen(m); err != nil {
		t.Fatal(err)
	}
	a, b := m.symbols["A"], m.symbols["B"]
	if a.count != 3 || a.high != 30 || a.low != 10 || a.volumeLo != 4 || a.vwap() != 25 || a.updatedNs != 13 {
		t.Errorf("A: %+v, VWAP %v", *a, a.vwap())
	}
	if b.count != 1 || b.high != -5 || b.low != -5 || b.vwap() != 0 {
		t.Errorf("B: %+v, VWAP %v", *b, b.vwap())
	}
}

func TestMarketAllocations(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds allocate differently")
	}
	for pool, want := range map[string]float64{"off": 1, "on": 0} {
		m := build(t, "market", given{"pool": pool, "capacity": "3"}, 1).(*market)
		allocs := testing.AllocsPerRun(5000, func() {
			if _, ok, err := m.Next(); !ok || err != nil {
				t.Fatal("no tick", err)
			}
			m.Do()
		})
		if allocs != want {
			t.Errorf("pool %s: %v allocations a tick, want %v", pool, allocs, want)
		}
	}
}

func TestTickPool(t *testing.T) {
	p := newTickPool(2)
	a, b, c := p.take(), p.take(), p.take() // the pool makes the third
	for _, x := range []*tick.Tick{a, b, c} {
		*x = tick.Tick{Symbol: "A", TimeNs: 1, Price: 1, Volume: 1, Bid: 1, Ask: 1, TradeID: 1}
		p.give(x) // the pool drops the third
	}
	if got := p.take(); got != a || *got != (tick.Tick{}) {
		t.Errorf("took %+v, want the first given, reset whole", *got)
	}
	if len(p) != 1 {
		t.Errorf("%d ticks in the pool, want 1", len(p))
	}
}

func writeTicks(t testing.TB, ticks []tick.Tick) (name string) {
	t.Helper()
	var buf bytes.Buffer
	w := tick.NewWriter(&buf)
	for i := range ticks {
		if err := w.Write(&ticks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "ticks.csv", buf.Bytes())
}

func writeFile(t testing.TB, base string, data []byte) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), base)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMarketReplays(t *testing.T) {
	ms := func(n ...int) (out []time.Duration) {
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	var ticks []tick.Tick
	for _, at := range []int64{5e9, 5.1e9, 5.05e9, 5.4e9, 4.9e9, 6e9} {
		ticks = append(ticks, tick.Tick{Symbol: "A", TimeNs: at, Price: 1, Volume: 1})
	}
	file := writeTicks(t, ticks)
	far := writeTicks(t, []tick.Tick{{Symbol: "A", TimeNs: math.MinInt64}, {Symbol: "A", TimeNs: math.MaxInt64}})
	for _, c := range []struct {
		g         given
		want      []time.Duration
		unordered float64
		warnings  string
	}{
		{given{"input": file, "tickrate": "1000"}, ms(0, 1, 2, 3, 4, 5), 0, ""},
		{given{"input": file, "tickrate": "1000", "duration": "3ms"}, ms(0, 1, 2), 0, "input-cut"},
		{given{"input": file, "tickrate": "1000", "duration": "6ms"}, ms(0, 1, 2, 3, 4, 5), 0, ""},
		{given{"input": file, "pace": "recorded", "duration": "0"}, ms(0, 100, 100, 400, 400, 1000), 2, "unordered-ticks"},
		{given{"input": file, "pace": "recorded", "speed": "0.5"}, ms(0, 200, 200, 800, 800, 2000), 2, "unordered-ticks"},
		{given{"input": file, "pace": "recorded", "speed": "10", "duration": "40ms"}, ms(0, 10, 10), 1, "unordered-ticks input-cut"},
		{given{"input": far, "pace": "recorded", "duration": "0", "speed": "0.001"}, []time.Duration{0, 1 << 62}, 0, ""},
	} {
		m := build(t, "market", c.g, 1).(*market)
		_, dues, err := driveOpen(m)
		if err != nil || !slices.Equal(dues, c.want) {
			t.Errorf("%v: due at %v, %v; want %v", c.g, dues, err, c.want)
		}
		if _, ok, err := m.Next(); ok || err != nil {
			t.Errorf("%v: after the end: %v, %v", c.g, ok, err)
		}
		var rec cell.Record
		m.Report(&rec)
		var codes []string
		for _, w := range rec.Warnings {
			codes = append(codes, w.Code)
		}
		if got := strings.Join(codes, " "); got != c.warnings || rec.Metrics["/market/unordered:ticks"] != c.unordered {
			t.Errorf("%v: warnings %q, metrics %v; want %q, %v unordered", c.g, got, rec.Metrics, c.warnings, c.unordered)
		}
	}
}

func TestMarketReplayEqualsGeneration(t *testing.T) {
	var plain, zip bytes.Buffer
	config := tick.GenerateConfig{Ticks: 5000, Symbols: 7, Rate: 50_000, Seed: 3}
	if err := tick.Generate(&plain, config); err != nil {
		t.Fatal(err)
	}
	config.Gzip = true
	if err := tick.Generate(&zip, config); err != nil {
		t.Fatal(err)
	}
	want, dues, err := driveOpen(build(t, "market", given{"tickrate": "50_000", "duration": "100ms", "symbols": "7"}, 3).(Open))
	if err != nil || len(dues) != 5000 {
		t.Fatal(len(dues), err)
	}
	for _, name := range []string{writeFile(t, "t.csv", plain.Bytes()), writeFile(t, "t.csv.gz", zip.Bytes())} {
		for _, pace := range []string{"fixed", "recorded"} {
			got, again, err := driveOpen(build(t, "market", given{"tickrate": "50_000", "input": name, "pace": pace}, 99).(Open))
			if err != nil || got != want || !slices.Equal(again, dues) {
				t.Errorf("%s, %s: %d ticks, checksum %#x, %v; want %#x", filepath.Base(name), pace, len(again), got, err, want)
			}
		}
	}
}

func TestMarketReportsBadInput(t *testing.T) {
	const lines = "symbol,timestamp,price,volume,bid,ask,trade_id\nA,1,1,1,1,1,1\nA,1,cheap,1,1,1,1\nA,1,1,1,1,1,3\n"
	file := writeFile(t, "bad.csv", []byte(lines))
	m := build(t, "market", given{"input": file}, 1).(*market)
	_, dues, err := driveOpen(m)
	if len(dues) != 1 || err == nil || !strings.HasPrefix(err.Error(), "tick: read: ") ||
		!strings.Contains(err.Error(), `bad.csv:3:5: price "cheap", want`) {
		t.Errorf("%d ticks, %v", len(dues), err)
	}
	m = build(t, "market", given{"input": file, "skip-bad": "on"}, 1).(*market)
	_, dues, err = driveOpen(m)
	var rec cell.Record
	m.Report(&rec)
	if len(dues) != 2 || err != nil || rec.Metrics["/market/skipped:lines"] != 1 || len(rec.Warnings) != 1 {
		t.Errorf("skip-bad: %d ticks, %v, %v, %v", len(dues), err, rec.Metrics, rec.Warnings)
	}
	var zip bytes.Buffer
	if err := tick.Generate(&zip, tick.GenerateConfig{Ticks: 5000, Symbols: 7, Rate: 1, Gzip: true}); err != nil {
		t.Fatal(err)
	}
	file = writeFile(t, "cut.gz", zip.Bytes()[:zip.Len()/2])
	_, dues, err = driveOpen(build(t, "market", given{"input": file, "skip-bad": "on"}, 1).(*market))
	if len(dues) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut.gz:") {
		t.Errorf("truncated: %d ticks, %v", len(dues), err)
	}
	if _, err := tryBuild("market", given{"input": writeFile(t, "empty.csv", nil)}, 1); err == nil || !strings.Contains(err.Error(), "empty.csv:1:1: the file is empty") {
		t.Errorf("empty: %v", err)
	}
}

// exactVWAP computes with as many bits as necessary.
type exactVWAP struct{ notional, volume *big.Float }

func newExactVWAP() *exactVWAP {
	return &exactVWAP{new(big.Float).SetPrec(2400), new(big.Float).SetPrec(2400)}
}

func (e *exactVWAP) add(t *tick.Tick) {
	price := new(big.Float).SetPrec(2400).SetFloat64(t.Price)
	volume := new(big.Float).SetPrec(2400).SetInt64(t.Volume)
	e.volume.Add(e.volume, volume)
	e.notional.Add(e.notional, price.Mul(price, volume))
}

// ulps returns the distance of got from the exact average, in units of its last place.
func (e *exactVWAP) ulps(got float64) float64 {
	exact := new(big.Float).SetPrec(2400).Quo(e.notional, e.volume)
	nearest, _ := exact.Float64()
	ulp := math.Nextafter(math.Abs(nearest), math.Inf(1)) - math.Abs(nearest)
	diff := exact.Sub(exact, new(big.Float).SetFloat64(got))
	f, _ := diff.Quo(diff, new(big.Float).SetFloat64(ulp)).Float64()
	return math.Abs(f)
}

func TestVWAP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, next := range map[string]func(i int) (price float64, volume int64){
		"ordinary":           func(int) (float64, int64) { return 100 + 900*rng.Float64(), 1 + rng.Int64N(1000) },
		"huge beside tiny":   func(i int) (float64, int64) { return math.Ldexp(1+rng.Float64(), 55*(i%2)), 1 + rng.Int64N(9) },
		"thirds":             func(int) (float64, int64) { return 1.0 / 3, 3 },
		"huge first":         func(i int) (float64, int64) { return []float64{1e18, 1e-3}[min(i, 1)], tick.MaxVolume },
		"full mantissas":     func(int) (float64, int64) { return rng.Float64(), tick.MaxVolume - rng.Int64N(1<<20) },
		"volume beyond 2^64": func(int) (float64, int64) { return 1 + rng.Float64()*1e-12, tick.MaxVolume },
		"tiny prices":        func(int) (float64, int64) { return rng.Float64() * 1e-200, 1 + rng.Int64N(1000) },
	} {
		var s symbolStats
		exact := newExactVWAP()
		for i := range 20_000 {
			price, volume := next(i)
			x := tick.Tick{Price: price, Volume: volume}
			s.add(&x)
			exact.add(&x)
		}
		if got := exact.ulps(s.vwap()); !(got <= 2) {
			t.Errorf("%s: VWAP %v is off by %v units in the last place, want at most 2", name, s.vwap(), got)
		}
	}
}

var vwapTicks = flag.Int64("vwap.ticks", 20_000_000, "length of TestVWAPOfALongStream")

// A long stream with exactly known sums: prices are multiples of 2^-20, so
// integers can add them up. The document's formula drifts on it.
func TestVWAPOfALongStream(t *testing.T) {
	if testing.Short() || invariant.Race {
		t.Skip("long")
	}
	var s symbolStats
	var volumes int64
	var drifting float64
	notional := new(big.Int)
	var part int64 // of notional, below 2^62
	x := tick.Tick{}
	state := uint64(1)
	for i := range *vwapTicks {
		state = state*6364136223846793005 + 1442695040888963407
		fixed := int64(100<<20 + state>>34) // price · 2^20
		x.Price = float64(fixed) / (1 << 20)
		x.Volume = int64(state>>20&1023) + 1
		s.add(&x)
		part += fixed * x.Volume
		volumes += x.Volume
		drifting = (drifting*float64(volumes-x.Volume) + x.Price*float64(x.Volume)) / float64(volumes)
		if i%1024 == 0 || i == *vwapTicks-1 {
			notional.Add(notional, big.NewInt(part))
			part = 0
		}
	}
	exact := newExactVWAP()
	exact.notional.SetInt(notional)
	exact.notional.SetMantExp(exact.notional, -20)
	exact.volume.SetInt64(volumes)
	if got := exact.ulps(s.vwap()); !(got <= 2) {
		t.Errorf("after %d ticks: VWAP %v is off by %v units in the last place, want at most 2", *vwapTicks, s.vwap(), got)
	}
	if ours, theirs := exact.ulps(s.vwap()), exact.ulps(drifting); theirs < 10*ours {
		t.Errorf("the formula that updates the average is off by %v units, ours by %v: is the stream long enough to tell?", theirs, ours)
	}
	t.Logf("after %d ticks: off by %.2f units in the last place; updating the average: %.0f", *vwapTicks, exact.ulps(s.vwap()), exact.ulps(drifting))
}

// BenchmarkMarketNext compares reading the input ahead with reading it inline,
// on ticks 20 µs apart: the time of Next, 99.9th percentile and maximum.
func BenchmarkMarketNext(b *testing.B) {
	const ticks = 50_000
	var file bytes.Buffer
	if err := tick.Generate(&file, tick.GenerateConfig{Ticks: ticks, Symbols: 1000, Rate: 1e5, Gzip: true}); err != nil {
		b.Fatal(err)
	}
	name := writeFile(b, "ticks.csv.gz", file.Bytes())
	for _, ahead := range []bool{false, true} {
		b.Run(fmt.Sprintf("ahead=%v", ahead), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				r, err := tick.Open(name, false)
				if err != nil {
					b.Fatal(err)
				}
				read, closer := r.Read, r.Close
				if ahead {
					a := tick.NewAhead(r)
					read, closer = a.Next, a.Close
				}
				var t tick.Tick
				start := time.Now()
				for i := range ticks {
					for time.Since(start) < time.Duration(i)*20*time.Microsecond {
					}
					begun := time.Now()
					if err := read(&t); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
				if err := closer(); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
			b.ReportMetric(float64(took[len(took)*999/1000]), "p99.9-ns")
			b.ReportMetric(float64(took[len(took)-1]), "max-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}
