package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
)

// record is a run of a simulated program as the runner would report it, with every
// cycle of its life.
func (s *simulated) record(c cell.Config, noise float64, rng *rand.Rand) *cell.Record {
	p := s.run(c.GC, noise, rng)
	rec := &cell.Record{Cell: cell.Cell{Config: c}}
	rec.Set(cell.WallTime, p.Wall)
	rec.Set(cell.TotalCPU, p.CPU)
	rec.Set(cell.RSSPeak, p.PeakBytes)
	rec.Set(cell.GCCPUTotal, p.GCSeconds)
	r := s.life.run(c.GC, 6*mib)
	if r.cycles == 0 {
		return rec
	}
	live := s.life.points[0].live
	black := r.marking / float64(r.cycles)
	goal := r.peak
	for i := range r.cycles {
		rec.Cycles = append(rec.Cycles, cell.Cycle{AtNs: int64(float64(i+1) * p.Wall / float64(r.cycles+1) * 1e9),
			MarkNs: 1e6,
			CPUNs:  int64(p.GCSeconds / float64(r.cycles) * 1e9), StartBytes: int64(goal - black), EndBytes: int64(goal),
			LiveBytes: int64(live + black), GoalBytes: int64(goal), Procs: 2})
	}
	return rec
}

func tuneSimulated(t *testing.T, program simulated, noise float64, change func(*Config)) (*Answer, error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
		Budget: 3 * time.Minute, Seed: 1}
	if change != nil {
		change(&c)
	}
	return Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := program.record(c, noise, rng)
		rec.Cell.Block = block
		return rec, nil
	})
}

// program returns a simulated program that spends the given share of its CPU time on
// collection at the default.
func program(share float64) simulated {
	const live, total = 40 * mib, 40 * 100 * mib
	s := simulated{work: 3, perSecond: 1.6, perByte: 0.7e-9, procs: 2}
	s.life = trajectory{points: []point{{1, live, 0}, {total, live, 0}}, total: total, procs: 2,
		costPerByte: s.work * share / (1 - share) / total, spread: 0.1}
	s.life.floating = 0.48 * total / s.work / 0.56
	return s
}

func TestTuneRecommendsWhatGains(t *testing.T) {
	r, err := tuneSimulated(t, program(0.3), 0.01, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Recommended || r.Setting.GC == cell.DefaultGC || r.Gains[0].Ratio.Hi >= 0.9 {
		t.Errorf("%s (%s) %s: %+v", r.Outcome, r.Reason, r.Setting.GC, r.Gains)
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"set GOGC=", "less wall time", "95 % sure, by", "peak memory", "today", "apply"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the answer lacks %q:\n%s", want, b.String())
		}
	}
	if lines := strings.Count(b.String(), "\n"); lines > 10 {
		t.Errorf("the answer has %d lines:\n%s", lines, b.String())
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != r.Headline || r.Lines()[0] != r.Headline ||
		r.Runs > mostRuns {
		t.Errorf("%d runs; the answer begins with %q, its lines with %q, JSON with %q", r.Runs, first, r.Lines()[0],
			r.Headline)
	}
	for _, c := range r.Choices {
		if c.Setting.GC.Percent < 0 && c.Setting.GC.LimitBytes == 0 {
			t.Errorf("%s is off without a limit", c.Name)
		}
	}
}

func TestTuneLeavesTheDefaultWhereNothingGains(t *testing.T) {
	r, err := tuneSimulated(t, program(0.004), 0.01, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != DefaultGood || r.Setting.GC != cell.DefaultGC {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
}

// TestLeaveRestsOnPairs: whatever the noise and contention, today's setting is called as good
// only after fresh rounds, and the first sentence says how many.
func TestLeaveRestsOnPairs(t *testing.T) {
	left := 0
	for _, objective := range []Objective{CPU, RSS, Throughput} {
		for _, wait := range []float64{0, 1} {
			for seed := range uint64(6) {
				p, noise := program(0.002*float64(1+seed)), 0.01*float64(1+seed)
				rng := rand.New(rand.NewPCG(seed, 5))
				c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC},
					Objective: objective, Seed: seed}
				r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
					rec := p.record(c, noise, rng)
					rec.Set(cell.CPUWait, wait*rec.Metrics[cell.TotalCPU])
					return rec, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				pairs := 0
				for _, choice := range r.Choices {
					pairs = max(pairs, choice.gain(cell.TotalCPU).Pairs)
				}
				name := fmt.Sprintf("%s, noise %v, wait %v: %s after %d runs", objective, noise, wait, r.Headline, r.Runs)
				switch {
				case r.Runs > mostRuns:
					t.Error(name)
				case r.Outcome == DefaultGood:
					left++
					if pairs < leastRounds || !strings.Contains(r.Headline, "paired rounds and a model of all") {
						t.Errorf("%s: %d pairs", name, pairs)
					}
				case r.Outcome == Inconclusive && pairs > 0 && !strings.Contains(r.Headline, "--rounds"):
					t.Errorf("%s: does not say what to do", name)
				}
			}
		}
	}
	if left < 8 {
		t.Errorf("of 36 programs that hardly collect %d are left as they are", left)
	}
}

// TestPrintedTextAgreesWithVerdict: a ratio proven to be below 1 is never printed as
// 1, nor as a saving of 0 %.
func TestPrintedTextAgreesWithVerdict(t *testing.T) {
	base := cell.Config{Workload: "exec", GC: cell.DefaultGC}
	for _, hi := range []float64{0.95, 0.994, 0.996, 0.9985, 0.99999, 1, 1.0004, 1.2} {
		by := stat.Comparison{Ratio: 0.93, Lo: 0.87, Hi: hi, Pairs: 6, Verdict: stat.NoDifference}
		if hi < 1 {
			by.Verdict = stat.Better
		}
		tuned := newTuning(Config{Base: base, Objective: CPU, Tolerance: 0.02}, nil)
		all := compared{by: map[string]stat.Comparison{cell.TotalCPU: by, cell.RSSPeak: by, costMetric: by},
			gains: []Gain{NewGain(cell.TotalCPU, by)}}
		c := tuned.choice(Fastest, base, all)
		r := &Answer{Outcome: c.Outcome, Reason: c.Reason, Base: base, Setting: base, Objective: CPU, Choices: []Choice{c}}
		r.Headline = r.Sentence()
		var b strings.Builder
		if err := errors.Join(r.Write(&b), r.WriteMore(&b)); err != nil {
			t.Fatal(err)
		}
		text := b.String() + strings.Join(r.Lines(), "\n")
		one := regexp.MustCompile(`, 1\.0*\]|\[-?0\.?0*,`).FindString(text)
		if proven := hi < 1; proven != (c.Outcome == Recommended) || proven && one != "" {
			t.Errorf("%v: %s with an end of %q in\n%s", hi, c.Outcome, one, text)
		}
	}
}

// TestTuneIsNotSureInNoise has a small gain in much noise, and few pairs.
func TestTuneIsNotSureInNoise(t *testing.T) {
	r, err := tuneSimulated(t, program(0.08), 0.25, func(c *Config) { c.Pairs = 4 })
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome == Recommended {
		t.Errorf("%s (%s) with 25 %% noise", r.Outcome, r.Reason)
	}
}

func TestTuneSavesMemory(t *testing.T) {
	r, err := tuneSimulated(t, program(0.01), 0.004, func(c *Config) { c.Objective = RSS })
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Choices, func(c Choice) bool { return c.Setting.GC == r.Setting.GC })
	if r.Outcome != Recommended || i < 0 || r.Choices[i].Memory.Hi >= 0.9 {
		t.Errorf("%s (%s): %s", r.Outcome, r.Reason, r.Setting.GC)
	}
	if gc := r.Setting.GC; gc.Percent >= 100 && gc.LimitBytes == 0 {
		t.Errorf("%s has neither a lower GOGC nor a limit", gc)
	}
}

// TestTodayWithoutCollections compares with a setting that never collects, so that
// the cost of collections has no ratio.
func TestTodayWithoutCollections(t *testing.T) {
	r, err := tuneSimulated(t, program(0.01), 0.004, func(c *Config) { c.Base.GC = cell.GC{Percent: -1} })
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Choices) == 0 {
		t.Fatalf("%s: %s", r.Outcome, r.Reason)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if unbounded := r.Setting.GC == r.Base.GC; unbounded != strings.Contains(strings.Join(r.Doubts, "\n"),
		"nothing bounds memory") {
		t.Errorf("%v is the answer; doubts: %q", r.Setting.GC, r.Doubts)
	}
}

func TestTuneRefuses(t *testing.T) {
	short := program(0.01)
	short.life.costPerByte /= 100
	short.work = 0.02
	if _, err := tuneSimulated(t, short, 0, nil); !errors.Is(err, ErrShort) {
		t.Errorf("a run of 20 ms: %v", err)
	}
	if _, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) { c.Budget = 20 * time.Second }); err == nil ||
		!strings.Contains(err.Error(), "--budget") {
		t.Errorf("a budget of 20 s: %v", err)
	}
	r, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) { c.MaxPeakBytes = 20 * mib })
	if err != nil || r.Outcome != Inconclusive || !strings.Contains(r.Reason, "memory allowed") {
		t.Errorf("less memory than is live: %s (%s), %v", r.Outcome, r.Reason, err)
	}
}

// TestRepeatsWhatFailsByChance has a program fail in some of its runs: not in its first, and not
// more often than a study repeats.
func TestRepeatsWhatFailsByChance(t *testing.T) {
	for name, tc := range map[string]struct {
		fails []int
		want  string // of the error
	}{
		"twice": {[]int{3, 9}, ""}, "at first": {[]int{1}, "with GOGC=100 failed: exit"},
		"often": {[]int{3, 5, 6}, "after 3 good runs and 2 runs that failed and were repeated: exit"},
	} {
		program, rng, runs := program(0.3), rand.New(rand.NewPCG(5, 5)), 0
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
			Seed: 1}
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := program.record(c, 0.01, rng)
			if runs++; slices.Contains(tc.fails, runs) {
				rec.Err = &cell.Failure{Kind: cell.FailExit, Message: "status 1"}
			}
			return rec, nil
		})
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", name, err, tc.want)
			}
			continue
		}
		if doubts := strings.Join(r.Doubts, "; "); err != nil || r.Runs != runs-2 ||
			!strings.Contains(doubts, "failed in 2 of") {
			t.Errorf("%s: %v, %d runs of %d, doubts %q", name, err, r.Runs, runs, doubts)
		}
	}
}

// TestTuneRacesWhatDoesNotFit tunes a program whose collections cost twenty times
// what its trace says, as if other processes collected untraced. The model says that
// it does not fit, and settings race.
func TestTuneRacesWhatDoesNotFit(t *testing.T) {
	p := program(0.06)
	p.perSecond = 32
	said := 0
	r, err := tuneSimulated(t, p, 0.01, func(c *Config) {
		c.Budget = 10 * time.Minute
		c.Begin = func(s Step) {
			if strings.HasPrefix(s.Doing, "racing ") && strings.HasSuffix(s.Doing, ", as its runs do not fit the model") {
				said++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if said < 2*raceRounds || !strings.Contains(strings.Join(r.Doubts, " "), "settings raced") {
		t.Errorf("%d steps say why settings race; doubts %q", said, r.Doubts)
	}
	raced := 0
	for _, c := range r.Candidates {
		if c.Cost != nil {
			raced++
		}
	}
	if r.Outcome != Recommended || raced < 3 || !strings.Contains(strings.Join(r.Doubts, " "), "untraced") {
		t.Errorf("%s (%s) %s, %d raced, doubts %q", r.Outcome, r.Reason, r.Setting.GC, raced, r.Doubts)
	}
}

// TestTuneExpectsRows tries other values of GOMAXPROCS. Each gets a row of the map that covers
// all candidates, with predictions near what was measured.
func TestTuneExpectsRows(t *testing.T) {
	p := program(0.3)
	rng := rand.New(rand.NewPCG(5, 5))
	var ones []*cell.Record
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
		Procs: []int{1, 4}, Seed: 1}
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := p.record(c, 0.01, rng)
		rec.Cell.Block = block
		if c.GOMAXPROCS == 1 { // half the CPUs, twice the time
			rec.Set(cell.WallTime, 2*rec.Metrics[cell.WallTime])
			ones = append(ones, rec)
		}
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 3 || r.Rows[0].Procs != 0 || r.Rows[0].Ran != 2 || r.Rows[1].Procs != 1 || r.Rows[2].Procs != 4 {
		t.Fatalf("rows %+v", r.Rows)
	}
	for i, row := range r.Rows {
		if len(row.Settings) != len(r.Rows[0].Settings) || len(row.Settings) < 8 {
			t.Errorf("row %d expects %d settings", i, len(row.Settings))
		}
	}
	// The answer reports on each.
	if len(r.Others) != 2 || !strings.Contains(r.Others[0], "GOMAXPROCS=1: 2.0") || !strings.Contains(r.Others[1], "GOMAXPROCS=4: ") {
		t.Errorf("others: %q", r.Others)
	}
	measured := ones[0]
	for i, expected := range r.Rows[1].Settings {
		wall := r.Rows[0].Settings[i].Wall.Mid
		if wall == 0 || expected.Wall.Mid == 0 { // withheld as too vague
			continue
		}
		if expected.GC == measured.Cell.GC {
			wall = measured.Metrics[cell.WallTime] / 2
		}
		if off := expected.Wall.Mid/(2*wall) - 1; math.Abs(off) > 0.2 {
			t.Errorf("GOMAXPROCS=1, %s: %v s expected, %+.2f off", expected.GC, expected.Wall.Mid, off)
		}
	}
	if f := r.ProcsMap().Figures; !slices.Equal(f, []plot.MapFigure{{Metric: cell.WallTime}, {Metric: cell.TotalCPU}}) {
		t.Errorf("maps of %+v", f)
	}
	served := Answer{Objective: "max:rps", Base: cell.Config{Workload: "serve"}, Rows: []Row{{}}}
	if f := served.ProcsMap().Figures; !slices.Equal(f, []plot.MapFigure{{Metric: "/figure:rps", Rises: true}, {Metric: cell.TotalCPU}}) {
		t.Errorf("maps of %+v", f)
	}
}

// TestTuneGoesOnWithoutWhatFails: the program does not run above GOGC=150. The budget covers the runs that failed.
func TestTuneGoesOnWithoutWhatFails(t *testing.T) {
	for kind, want := range map[cell.FailureKind]string{cell.FailMemory: "memory: no luck",
		cell.FailExit: "3 times in a row: exit: no luck"} {
		p, rng, spent := program(0.3), rand.New(rand.NewPCG(5, 5)), 0.0
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
			Seed: 1}
		tuned := newTuning(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := p.record(c, 0.01, rng)
			rec.Cell.Block = block
			if c.GC.Percent > 150 || c.GC.Percent < 0 {
				rec.Err = &cell.Failure{Kind: kind, Message: "no luck"}
			}
			spent += rec.Metrics[cell.WallTime] + overheadSeconds
			return rec, nil
		})
		tuned.Fill()
		if err := tuned.tune(); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		tuned.conclude()
		r := tuned.answer
		if doubts := strings.Join(r.Doubts, "; "); r.Setting.GC.Percent > 150 || r.Setting.GC.Percent < 0 ||
			!strings.Contains(doubts, want) || strings.Contains(doubts, "which were repeated") {
			t.Errorf("%s: %s (%s): %s, doubts %q", kind, r.Outcome, r.Reason, r.Setting.GC, doubts)
		}
		if math.Abs(spent-tuned.spent) > 1e-6 {
			t.Errorf("%s: runs took %v s, and count %v", kind, spent, tuned.spent)
		}
	}
}

// TestBudgetTooSmall: the advice fits what runs.
func TestBudgetTooSmall(t *testing.T) {
	for workload, want := range map[string]string{"exec": "or a shorter command", "serve": "or the server a shorter load (--for"} {
		_, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) {
			c.Base.Workload, c.Objective, c.Budget = workload, CPU, 5*time.Second
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", workload, err, want)
		}
	}
}

// TestBudgetHolds gives less time than the proof would take: tuning ends within one run of the
// budget, and each step says how much time is left.
func TestBudgetHolds(t *testing.T) {
	p := program(0.3)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, budget := range []time.Duration{24 * time.Second, 30 * time.Second, 45 * time.Second} {
		var steps []Step
		longest := 0.0
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
			Budget: budget, Seed: 1,
			Begin: func(s Step) { steps = append(steps, s) }}
		tuned := newTuning(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := p.record(c, 0.01, rng)
			rec.Set(cell.RunTime, 1.3*rec.Metrics[cell.WallTime]) // a slow start
			longest = max(longest, rec.Metrics[cell.RunTime])
			return rec, nil
		})
		tuned.Fill()
		err := tuned.tune()
		if err != nil && !strings.Contains(err.Error(), "--budget") {
			t.Fatal(err)
		}
		if tuned.spent > budget.Seconds()+longest {
			t.Errorf("budget %v: spent %.1f s, the longest run took %.1f", budget, tuned.spent, longest)
		}
		for i, s := range steps {
			if s.Done != i || s.Planned <= s.Done || s.Planned > mostRuns || s.Left < 0 || s.Doing == "" {
				t.Errorf("budget %v: step %d: %+v", budget, i, s)
			}
		}
	}
}

// TestContentionIsSaid has runs that waited for a CPU half of the time. The answer says so first,
// and gctrace's CPU time counts as scaled.
func TestContentionIsSaid(t *testing.T) {
	p := program(0.3)
	rng := rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
		Seed: 1}
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := p.record(c, 0.03, rng)
		rec.Set(cell.CPUWait, rec.Metrics[cell.TotalCPU])
		rec.Set(cell.GCCPUScale, 0.5)
		for i := range rec.Cycles { // as gctrace shows it
			rec.Cycles[i].CPUNs *= 2
		}
		rec.Noise = cell.Noise{CPUPressure: 0.9, OtherCPU: 1.5}
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Doubts) == 0 || !strings.Contains(r.Doubts[0], "for 50 % of the time in which the program could run") ||
		!strings.Contains(r.Doubts[0], "other processes used 1.50 CPUs: stop them") {
		t.Errorf("doubts %q", r.Doubts)
	}
	for _, p := range r.Predicted {
		if p.GC == cell.DefaultGC && p.GCShare.Mid > 0.4 {
			t.Errorf("GC share of the default: %+v", p.GCShare)
		}
		if p.GCShare.Mid > p.GCShare.Hi || p.GCShare.Hi > 1 || p.CPU.Lo < 0 || p.CPU.Mid > p.CPU.Hi {
			t.Errorf("%s: %+v %+v", p.GC, p.GCShare, p.CPU)
		}
	}
}

// TestColdServersAreSaid: if response times fall within each load, the answer says so and names
// the remedy; if they only scatter, it does not.
func TestColdServersAreSaid(t *testing.T) {
	for _, tc := range []struct {
		drift, noise float64
		said         bool
	}{{0.94, 0.05, true}, {1.08, 0.05, true}, {1, 0.05, false}, {0.98, 0.001, false}, {0.94, 0.5, false}} {
		rng := rand.New(rand.NewPCG(5, 5))
		p := program(0.3)
		c := Config{Base: cell.Config{Workload: "serve", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
			Seed: 1}
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := p.record(c, 0.03, rng)
			rec.Set(cell.LoadDrift, tc.drift*math.Exp(tc.noise*rng.NormFloat64()))
			return rec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if said := len(r.Doubts) > 0 && strings.Contains(r.Doubts[0], "--warmup"); said != tc.said {
			t.Errorf("response times change to %v ± %v: %q", tc.drift, tc.noise, r.Doubts)
		}
	}
}

// TestOverloadedServers: CPU time says nothing about a server that does not keep up with the
// rate, and rising response times do not make it cold. A single such run does no harm.
func TestOverloadedServers(t *testing.T) {
	for every, want := range map[int]string{1: "793 of 900 requests were late; give a lower --rate or more --connections", 8: "set GOGC="} {
		rng := rand.New(rand.NewPCG(5, 5))
		p := program(0.3)
		c := Config{Base: cell.Config{Workload: "serve", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
			Seed: 1}
		runs := 0
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := p.record(c, 0.03, rng)
			if runs++; runs%every == 0 {
				rec.Set(cell.LoadDrift, 4)
				rec.Warn("overload", "793 of 900 requests were late")
			}
			return rec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Headline, want) || strings.Contains(strings.Join(r.Doubts, "; "), "not warm") ||
			every == 1 && runs > 2 {
			t.Errorf("every %d. of %d runs is overloaded: %s; %q", every, runs, r.Headline, r.Doubts)
		}
	}
}

func TestVerdict(t *testing.T) {
	better, none, worse := stat.Comparison{Verdict: stat.Better}, stat.Comparison{Verdict: stat.NoDifference},
		stat.Comparison{Verdict: stat.Worse}
	tight, wide := none, none
	tight.Lo, tight.Hi, wide.Lo, wide.Hi = 0.99, 1.01, 0.9, 1.1
	for want, comparisons := range map[string][]stat.Comparison{
		Recommended: {better}, DefaultGood: {worse, tight}, Inconclusive: {wide, {Verdict: stat.Inconclusive}},
	} {
		for _, c := range comparisons {
			if got, reason := verdict(0.02, c); got != want {
				t.Errorf("%+v: %s (%s), want %s", c, got, reason, want)
			}
		}
	}
	same := stat.Comparison{Verdict: stat.NoDifference, Ratio: 1, Lo: 0.985, Hi: 1.02, Pairs: 4}
	less := stat.Comparison{Verdict: stat.Better, Ratio: 0.8, Lo: 0.7, Hi: 0.9, Pairs: 4}
	more := stat.Comparison{Verdict: stat.Worse, Ratio: 1.2, Lo: 1.1, Hi: 1.3, Pairs: 4}
	unsure := stat.Comparison{Verdict: stat.NoDifference, Ratio: 1, Lo: 0.9, Hi: 1.1, Pairs: 4}
	tune := newTuning(Config{Tolerance: 0.02}, nil)
	for _, tc := range []struct {
		name        string
		cpu, memory stat.Comparison
		want        string
	}{
		{Fastest, less, more, Recommended},
		{SameMemory, less, same, Recommended},
		{SameMemory, less, more, Inconclusive},
		{SameMemory, same, same, DefaultGood},
		{LeastMemory, same, less, Recommended},
		{LeastMemory, unsure, less, Inconclusive},
		{LeastMemory, more, less, DefaultGood},
		{LeastMemory, same, same, DefaultGood},
	} {
		c := tune.choice(tc.name, cell.Config{}, compared{by: map[string]stat.Comparison{cell.TotalCPU: tc.cpu,
			cell.RSSPeak: tc.memory, costMetric: tc.cpu}})
		if c.Outcome != tc.want {
			t.Errorf("%s, CPU %.1f, memory %.1f: %s (%s), want %s", tc.name, tc.cpu.Ratio, tc.memory.Ratio, c.Outcome,
				c.Reason, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	p := program(0.3)
	recorded, err := tuneSimulated(t, p, 0.01, nil)
	if err != nil || recorded.Outcome != Recommended {
		t.Fatal(recorded.Outcome, err)
	}
	rng := rand.New(rand.NewPCG(6, 6))
	c := Config{Base: recorded.Base, Objective: Wall, Seed: 2}
	for want, program := range map[string]simulated{Holds: p, Lost: program(0.01)} {
		got, err := Check(c, recorded, 0.05, func(c cell.Config, block int) (*cell.Record, error) {
			return program.record(c, 0.005, rng), nil
		})
		if err != nil || got.Outcome != want {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
	if _, err := Check(c, &Answer{}, 0.05, nil); err == nil {
		t.Error("a result without gains: no error")
	}
}

// TestToSet: today's limit is turned off if the new setting has none.
func TestToSet(t *testing.T) {
	limited, free := cell.Config{GC: cell.GC{Percent: 100, LimitBytes: 1 << 30}}, cell.Config{GC: cell.GC{Percent: 50}}
	for want, a := range map[string]Answer{
		"GOGC=50 GOMEMLIMIT=off":   {Base: limited, Setting: free},
		"GOGC=50 GOMEMLIMIT=2GiB":  {Base: limited, Setting: free, GuardBytes: 2 << 30},
		"GOGC=100 GOMEMLIMIT=1GiB": {Base: free, Setting: limited},
		"GOGC=50":                  {Base: free, Setting: free},
	} {
		if got := a.toSet(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSettingText(t *testing.T) {
	for want, c := range map[string]cell.Config{
		"GOGC=100":                 {GC: cell.DefaultGC},
		"GOGC=off GOMEMLIMIT=1GiB": {GC: cell.GC{Percent: -1, LimitBytes: 1 << 30}},
		"GOGC=400 GOMAXPROCS=1":    {GC: cell.GC{Percent: 400}, GOMAXPROCS: 1},
		"GOGC=100 GOMEMLIMIT=1GiB": {GC: cell.GC{Percent: 100, LimitBytes: 1 << 30}},
		"GOMAXPROCS=3":             {GC: cell.DefaultGC, GOMAXPROCS: 3},
	} {
		if got := settingText(c); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
	if s := bytesText(math.Pow(2, 34)); s != "16.0 GiB" {
		t.Error(s)
	}
}

// TestTimed: runs that end after a fixed time are told from runs that end with their work, whose
// sizes gctrace rounds, and from runs whose work varies by chance.
func TestTimed(t *testing.T) {
	run := func(room, cycles int64, wall float64) Pilot { // 10 MiB are live
		rec := steady(int(cycles))
		for i := range rec.Cycles {
			c := &rec.Cycles[i]
			c.StartBytes, c.EndBytes, c.LiveBytes, c.GoalBytes = (10+room)*mib, (10+room)*mib, 10*mib, (10+room)*mib
		}
		rec.Set(cell.WallTime, wall)
		rec.Set(cell.RSSPeak, float64((20+room)*mib))
		return mustPilot(t, rec)
	}
	compiler := func(percent int, wall float64) Pilot { // allocates 145 MiB, of which six tenths stay live
		rec := steady(0)
		rec.Cell.Config.GC.Percent = percent
		goal, marked, at := max(4*float64(percent)/100, 4), 0.0, 0.0
		for at+goal-marked < 145 {
			at += goal - marked
			marked = 0.6 * at
			rec.Cycles = append(rec.Cycles, cell.Cycle{AtNs: int64(wall * at / 145 * 1e9), MarkNs: 1e6, CPUNs: 1e6,
				StartBytes: int64(goal * mib), EndBytes: int64(goal * mib), LiveBytes: int64(marked * mib),
				GoalBytes: int64(goal * mib), Procs: 2})
			goal = marked * (1 + float64(percent)/100)
		}
		rec.Set(cell.WallTime, wall)
		rec.Set(cell.RSSPeak, (marked+145-at+10)*mib)
		return mustPilot(t, rec)
	}
	for name, c := range map[string]struct {
		runs []Pilot
		is   bool
	}{
		"few cycles of a growing heap": {[]Pilot{compiler(150, 0.45), compiler(150, 0.47), compiler(150, 0.46),
			compiler(50, 0.46), compiler(50, 0.47)}, false},
		"fixed time":           {[]Pilot{run(10, 100, 3), run(20, 65, 3.01), run(40, 35, 3)}, true},
		"two runs are too few": {[]Pilot{run(10, 100, 3), run(40, 35, 3.01)}, false},
		"fixed work":           {[]Pilot{run(10, 100, 3.3), run(20, 50, 3.1), run(40, 25, 3)}, false},
		"as fast, but rounded": {[]Pilot{run(2, 500, 3), run(4, 280, 3), run(40, 25, 3)}, false},
		"others take the CPU":  {[]Pilot{run(10, 100, 3), run(10, 40, 4.2), run(20, 40, 3.5)}, true},
		"much work by chance":  {[]Pilot{run(10, 100, 4), run(10, 40, 2.2), run(20, 40, 3.1)}, false},
		"work by chance":       {[]Pilot{run(10, 100, 3), run(10, 140, 4.1), run(20, 60, 3.6)}, false},
		"starved, few cycles": {[]Pilot{run(10, 5, 0.71), run(10, 6, 0.58), run(10, 5, 0.63), run(10, 7, 0.59),
			run(10, 8, 0.58),
			run(10, 9, 0.6), run(10, 8, 0.62), run(10, 9, 0.56)}, true},
		"starved, fewer by setting": {[]Pilot{run(10, 7, 1), run(10, 5, 1.42), run(10, 5, 1.56), run(10, 7, 1.01),
			run(10, 5, 1.05),
			run(10, 7, 1.02), run(32, 3, 1.04), run(32, 3, 1.33), run(32, 3, 1.01), run(32, 3, 1.05), run(32, 2, 1.39)}, true},
		"starved, by chance": {[]Pilot{run(10, 5, 0.61), run(10, 6, 0.98), run(10, 5, 0.73), run(10, 7, 0.74),
			run(10, 8, 1.1),
			run(10, 9, 1.3), run(10, 8, 0.92), run(10, 9, 1.1)}, false},
	} {
		if why := fixedTime(c.runs); why != "" != c.is {
			t.Errorf("%s: %q", name, why)
		}
	}
}
