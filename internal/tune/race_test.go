package tune

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// raced tunes a simulated server whose 99th percentile depends on the setting.
func raced(t *testing.T, o Objective, noise float64, p99 func(gc cell.GC) float64, change func(*Config)) *Answer {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	p := program(0.2)
	c := Config{Base: cell.Config{Workload: "serve", Command: []string{"server"}, GC: cell.DefaultGC}, Objective: o, Budget: 5 * time.Minute, Seed: 1}
	if change != nil {
		change(&c)
	}
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := p.record(c, 0.01, rng)
		rec.Cell.Block = block
		v := p99(c.GC) * math.Exp(noise*rng.NormFloat64())
		rec.Set(cell.FigurePrefix+"p99-ns", v)
		rec.Set(cell.FigurePrefix+"req/s", 1e9/v)
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// better halves the percentile from GOGC=200 on.
func better(gc cell.GC) float64 {
	if gc.Percent < 0 || gc.Percent >= 200 {
		return 1e6
	}
	return 2e6
}

func TestRaceFindsWhatNoModelPredicts(t *testing.T) {
	for _, o := range []Objective{"min:p99-ns", "max:req/s", "req/s"} {
		r := raced(t, o, 0.05, better, nil)
		if r.Outcome != Recommended || better(r.Setting.GC) != 1e6 {
			t.Errorf("%s: %s (%s) %s", o, r.Outcome, r.Reason, r.Setting.GC)
		}
		var b strings.Builder
		if err := r.WriteMore(&b); err != nil || !strings.Contains(b.String(), "measured in rounds: ") {
			t.Errorf("%s: %v\n%s", o, err, b.String())
		}
		for _, c := range r.Candidates {
			if c.Out == "" && c.Cost != nil && c.Cost.Mid > 1.5 {
				t.Errorf("%s: %s is still in: %+v", o, c.GC, c.Cost)
			}
		}
	}
}

func TestRaceLeavesTheDefaultWhereNothingGains(t *testing.T) {
	wrong := 0
	for range 5 {
		if r := raced(t, "min:p99-ns", 0.05, func(cell.GC) float64 { return 1e6 }, nil); r.Outcome == Recommended {
			wrong++
		}
	}
	if wrong > 1 {
		t.Errorf("%d of 5 races between equals ended in a recommendation", wrong)
	}
}

// TestBoundOfLatency: first GOGC=1600 and more break the bound, then every setting.
func TestBoundOfLatency(t *testing.T) {
	worse := func(gc cell.GC) float64 {
		if gc.Percent < 0 || gc.Percent >= 1600 {
			return 5e6
		}
		return 1e6
	}
	r := raced(t, CPU, 0.02, worse, func(c *Config) { c.MaxP99 = 2 * time.Millisecond })
	if r.Outcome != Recommended || worse(r.Setting.GC) != 1e6 {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
	r = raced(t, CPU, 0.02, worse, func(c *Config) { c.MaxP99 = time.Microsecond })
	if r.Outcome != Inconclusive || !strings.Contains(r.Reason, "99th percentile within 1µs") {
		t.Errorf("%s (%s)", r.Outcome, r.Reason)
	}
	if !strings.Contains(r.Reason, "the least ") || !strings.Contains(r.Reason, ", with GOGC=") {
		t.Errorf("the reason does not name what comes closest: %s", r.Reason)
	}
	// The default breaks the bound: recommend what keeps it.
	r = raced(t, CPU, 0.02, better, func(c *Config) { c.MaxP99 = 1500 * time.Microsecond })
	if r.Outcome != Recommended || better(r.Setting.GC) != 1e6 || !strings.Contains(r.Reason, "the bound that the baseline breaks") {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
}

// TestBoundOfMemory allows less memory than the default takes.
func TestBoundOfMemory(t *testing.T) {
	r, err := tuneSimulated(t, program(0.1), 0.01, func(c *Config) { c.MaxPeakBytes = 85 * mib })
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Recommended || r.Choices[0].PeakBytes.Mid > 85*mib || !strings.Contains(r.Reason, "the bound that the baseline breaks") {
		t.Errorf("%s (%s): %s, %+v", r.Outcome, r.Reason, r.Setting.GC, r.Choices)
	}
	if !strings.Contains(r.Headline, "; it keeps the bound that today's setting breaks: peak memory ") || !strings.Contains(r.Headline, " MiB, 85 MiB allowed") {
		t.Errorf("the headline does not say why: %s", r.Headline)
	}
	for _, c := range r.Choices {
		if limit := c.Setting.GC.LimitBytes; limit > 0 && float64(limit) < leastMargin*float64(r.CliffBytes) {
			t.Errorf("%s: a limit of %d MiB beside a cliff of %d", c.Name, limit/mib, r.CliffBytes/mib)
		}
	}
}

// TestTwiceIsHeld: if the first run under today's setting took nearly twice as much
// as others, that does not raise what the answer may take. A choice that took more in
// the fresh pairs is no answer.
func TestTwiceIsHeld(t *testing.T) {
	for trial := range uint64(5) {
		rng := rand.New(rand.NewPCG(trial, 8))
		p := newSimulated(rng, false)
		_, today, _ := p.exact(cell.DefaultGC)
		runs := 0
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU}
		r, err := Tune(c, func(c cell.Config, _ int) (*cell.Record, error) {
			rec := p.record(c, 0.03, rng)
			if runs++; runs == 1 {
				rec.Set(cell.RSSPeak, 1.9*rec.Metrics[cell.RSSPeak])
			}
			return rec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, peak, _ := p.exact(r.Setting.GC); peak > 2.1*today {
			t.Errorf("trial %d: %s takes %.2f times today's memory", trial, r.Setting.GC, peak/today)
		}
	}
	u := newTuning(Config{Objective: CPU}, nil)
	better := stat.Comparison{Pairs: 8, Ratio: 0.8, Lo: 0.7, Hi: 0.9, Verdict: stat.Better}
	r := compared{by: map[string]stat.Comparison{costMetric: better, cell.TotalCPU: better, cell.RSSPeak: {Pairs: 8, Ratio: 2.8}}}
	if c := u.choice(Fastest, cell.Config{}, r); c.Outcome != Inconclusive || !strings.Contains(c.Reason, "2.80 times") {
		t.Errorf("a choice of 2.8 times the memory: %s, %s", c.Outcome, c.Reason)
	}
}

// TestRaceHoldsTwice: settings that gain, but take more memory in their runs than the model
// expected, leave the race, and the proof does not waste rounds on them.
func TestRaceHoldsTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	p := program(0.2)
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: "max:req/s", Seed: 1}
	runs := 0
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := p.record(c, 0.01, rng)
		if runs++; runs > 2 && c.GC.Percent > 100 {
			rec.Set(cell.RSSPeak, 300*mib) // today's takes 106
		}
		rec.Set(cell.FigurePrefix+"req/s", 1e9/better(c.GC))
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := 0
	for _, c := range r.Candidates {
		if strings.Contains(c.Out, "times today's memory, and twice is allowed: --max-rss") {
			out++
		}
	}
	if out == 0 || len(r.Choices) > 0 && r.Choices[0].Memory.Mid > 2 {
		t.Errorf("%d out; %s", out, r.Headline)
	}
}

// TestRaceHoldsBound: if today's setting breaks the bound on memory, one that keeps
// it wins the race without any gain.
func TestRaceHoldsBound(t *testing.T) {
	same := func(cell.GC) float64 { return 1e6 }
	r := raced(t, "max:req/s", 0.02, same, func(c *Config) { c.MaxPeakBytes = 85 * mib }) // today's takes 106
	if r.Outcome != Recommended || !strings.Contains(r.Reason, keepsBound) {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
	r = raced(t, "max:req/s", 0.02, same, func(c *Config) { c.MaxPeakBytes = 20 * mib })
	if r.Outcome != Inconclusive || !strings.Contains(r.Reason, "no setting keeps within the memory allowed") {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
}

func TestObjective(t *testing.T) {
	for s, want := range map[string]bool{"wall": true, "p99.9": true, "ns/op": true, "min:a.b": true, "max:rate": true, "min:": false, "speed": false, "p95": false, "avg:x": false, "": false} {
		if _, err := ParseObjective(s); (err == nil) != want {
			t.Errorf("%q: %v", s, err)
		}
	}
	if !Objective("MB/s").rises(false) || Objective("ns/op").rises(false) || Objective("min:MB/s").rises(false) || !Throughput.rises(true) || Throughput.rises(false) {
		t.Error("the direction of an objective is wrong")
	}
	rec := &cell.Record{}
	rec.Set(cell.FigurePrefix+"MB/s", 4)
	if got, err := Objective("MB/s").cost(rec); err != nil || got != 0.25 {
		t.Errorf("%v, %v; want 0.25", got, err)
	}
	if _, err := P99.cost(rec); err == nil || !strings.Contains(err.Error(), "MB/s") {
		t.Errorf("no latency: %v", err)
	}
}

func TestStudentQuantile(t *testing.T) {
	for _, tc := range []struct{ p, degrees, want float64 }{{0.95, 3, 2.353}, {0.99, 3, 4.541}, {0.95, 10, 1.812}, {0.99, 5, 3.365}, {0.5, 7, 0}} {
		if got := studentQuantile(tc.p, tc.degrees); math.Abs(got-tc.want) > 0.03*tc.want+1e-9 {
			t.Errorf("%v of %v degrees: %.3f, want %.3f", tc.p, tc.degrees, got, tc.want)
		}
	}
}

// TestBeyondIsRepeatable: the same costs give the same interval, to the last digit.
func TestBeyondIsRepeatable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	r, o := &racer{costs: map[int]float64{}}, &racer{costs: map[int]float64{}}
	for block := range 40 {
		r.costs[block], o.costs[block] = rng.NormFloat64(), rng.NormFloat64()
	}
	mean, half := r.beyond(o, 0.05)
	for range 100 {
		if m, h := r.beyond(o, 0.05); m != mean || h != half {
			t.Fatalf("%v ± %v, then %v ± %v", mean, half, m, h)
		}
	}
}
