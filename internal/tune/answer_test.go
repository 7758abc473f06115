package tune

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// TestPrintedRatiosAgree has rounds whose median ratio is below 1 while the median of the tuned
// runs is above today's: figures beside a ratio must not contradict it.
func TestPrintedRatiosAgree(t *testing.T) {
	base := cell.Config{Workload: "serve", Command: []string{"srv"}, GC: cell.DefaultGC}
	tuned := base
	tuned.GC = cell.GC{Percent: 400}
	today := []float64{49e6, 70e6, 30e6, 49e6, 90e6}
	then := []float64{59e6, 66e6, 28e6, 59e6, 86e6}
	var records [2][]*cell.Record
	for round := range today {
		for i, v := range []float64{today[round], then[round]} {
			rec := &cell.Record{Cell: cell.Cell{Config: []cell.Config{base, tuned}[i], Block: round}}
			rec.Set(cell.FigurePrefix+"p99-ns", v)
			rec.Set(cell.TotalCPU, v/1e9)
			rec.Set(cell.RSSPeak, v)
			records[i] = append(records[i], rec)
		}
	}
	tu := newTuning(Config{Base: base, Objective: "min:p99-ns"}, nil)
	compared, err := tu.compare([]cell.Config{base, tuned}, records[:])
	if err != nil {
		t.Fatal(err)
	}
	c := tu.choice(Fastest, tuned, compared[1])
	r := &Answer{Base: base, Objective: tu.Objective, Outcome: Inconclusive, Choices: []Choice{c}}
	var b strings.Builder
	if err := r.WriteMore(&b); err != nil {
		t.Fatal(err)
	}
	const unit = `(?: (?:s|ms|MiB))? +`
	line := regexp.MustCompile(`(?m)^  (p99-ns|CPU time|peak memory) +(\S+)` + unit + `(\S+)` + unit + `(0\.\d+)`)
	rows := line.FindAllStringSubmatch(b.String(), -1)
	if len(rows) != 3 {
		t.Fatalf("%d rows of figures in\n%s", len(rows), &b)
	}
	for _, row := range rows {
		was, is, ratio := number(t, row[2]), number(t, row[3]), number(t, row[4])
		if !near(is/was, ratio, 0.02) || ratio >= 1 {
			t.Errorf("%s: %v and then %v beside a ratio of %v", row[1], was, is, ratio)
		}
	}
}

// TestOpenAnswer: without a proof, the first sentence of an answer names what was tried, what may
// still be saved, how many rounds would tell, and what else was proven.
func TestOpenAnswer(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}
	of := func(mid, lo, hi, waiting float64) string {
		by := stat.Comparison{Ratio: mid, Lo: lo, Hi: hi, Pairs: 9, Verdict: stat.NoDifference,
			Reason: "the rank test does not agree"}
		c := Choice{Name: Fastest, Setting: base, Cost: Interval{mid, lo, hi}, Gains: []Gain{NewGain(cell.TotalCPU, by)}}
		c.Setting.GC = setting(800, 16*mib)
		c.Outcome, c.Reason = verdict(0.02, by)
		less := Choice{Name: LeastMemory, Setting: base, Memory: Interval{0.8, 0.78, 0.82}, CPU: Interval{1.01, 1, 1.02},
			Outcome: Recommended}
		less.Setting.GC = setting(50, 0)
		r := &Answer{Outcome: c.Outcome, Reason: c.Reason, Base: base, Setting: base, Objective: CPU, Tolerance: 0.02,
			Waiting: waiting, Choices: []Choice{c, less}}
		return r.Sentence()
	}
	const head = "no recommendation: GOGC=800 GOMEMLIMIT=16MiB: "
	const tail = "; proven besides, least memory: set GOGC=50: 20 % less memory [18, 22], 1 % more CPU time [0, 2]"
	for want, got := range map[string]string{
		// The interval reaches 8 points to either side: within 2 it would prove, and none would exclude.
		head + "2 % less CPU time [-6, 10] by 9 paired rounds; up to 10 % may be saved; it would take more than --rounds " +
			"100, fewer on a quieter machine" + tail: of(0.98, 0.9, 1.06, 0.5),
		// 9 points, where 6 would prove: (9/6)² times 9 rounds.
		head + "6 % less CPU time [-3, 15] by 9 paired rounds; up to 15 % may be saved; about --rounds 21 may tell, fewer " +
			"where a run does more" + tail: of(0.94, 0.85, 1.03, 0),
		// The interval proves the gain, but the verdict does not: say why, and suggest more rounds than ran.
		head + "5 % less CPU time [1, 9] by 9 paired rounds, but the rank test does not agree; up to 9 % may be saved; " +
			"about --rounds 18 may tell, fewer where a run does more" + tail: of(0.95, 0.91, 0.99, 0),
	} {
		if got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// TestLeaveNamesWhatIsWorse: the reason to leave today's setting is about another.
func TestLeaveNamesWhatIsWorse(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"prog"}, GC: setting(150, 0)}
	by := stat.Comparison{Ratio: 1.09, Lo: 1.01, Hi: 1.15, Pairs: 4, Verdict: stat.Worse, Reason: "by a model of 11 runs"}
	c := Choice{Name: Fastest, Setting: base, Runs: 11, Gains: []Gain{NewGain(cell.TotalCPU, by)}}
	c.Setting.GC = setting(800, 48*mib)
	c.Outcome, c.Reason = verdict(0.02, by)
	r := &Answer{Outcome: c.Outcome, Reason: c.Reason, Base: base, Setting: base, Objective: CPU, Choices: []Choice{c}}
	const want = "leave GOGC=150: GOGC=800 GOMEMLIMIT=48MiB: fresh runs show it worse than today's setting: the ratio is " +
		"1.09x [1.01, 1.15]; by 4 paired rounds and a model of all 11 runs"
	if got := r.Sentence(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r.Reason, r.Choices[0].Reason = nothingToSave, nothingToSave // under today's setting
	if got := r.Sentence(); !strings.HasPrefix(got, "leave GOGC=150: "+nothingToSave) {
		t.Error(got)
	}
}

// TestOpenAnswerNamesCPU: if wall time stays open, the answer states a certain saving of CPU time.
func TestOpenAnswerNamesCPU(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}
	for verdict, want := range map[stat.Verdict]string{
		stat.Better: "GOGC=200: 3 % less wall time [-13, 13] by 8 paired rounds, but for sure 30 % less CPU time [23, 37], " +
			"which --objective cpu goes by; up to 13 % may be saved",
		stat.NoDifference: "GOGC=200: 3 % less wall time [-13, 13] by 8 paired rounds; up to 13 % may be saved",
	} {
		c := Choice{Setting: base, Cost: Interval{0.97, 0.87, 1.13}, Reason: Open, Gains: []Gain{
			NewGain(cell.WallTime, stat.Comparison{Ratio: 0.97, Lo: 0.87, Hi: 1.13, Pairs: 8, Verdict: stat.NoDifference}),
			NewGain(cell.TotalCPU, stat.Comparison{Ratio: 0.70, Lo: 0.63, Hi: 0.77, Pairs: 8, Verdict: verdict})}}
		c.Setting.GC = setting(200, 0)
		r := &Answer{Outcome: Inconclusive, Reason: Open, Base: base, Setting: base, Objective: Throughput, Tolerance: 0.02,
			Waiting: 0.5, Choices: []Choice{c}}
		if got := r.Sentence(); !strings.Contains(got, want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// TestLimitNamesItsRoom: a limit that a program outgrows costs far more than it saved; only a doubt warns of one
// that leaves little room.
func TestLimitNamesItsRoom(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}
	r := &Answer{Outcome: Recommended, Base: base, Setting: base, Objective: CPU, Choices: []Choice{{Setting: base}}}
	r.Setting.GC = setting(800, 48*mib)
	for cliff, want := range map[int64]bool{0: false, 20 * mib: true, 40 * mib: false} {
		r.CliffBytes = cliff
		if got := r.Sentence(); strings.Contains(got, "; tune again before live data grows to 2.4 times: ") != want {
			t.Errorf("a cliff of %d: %s", cliff, got)
		}
	}
}

// TestShownDoubts: warnings about the recommended setting are never left to the report.
func TestShownDoubts(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}
	c := Choice{Name: Fastest, Setting: base, Outcome: Recommended, Warnings: []string{"its limit is tight"},
		Gains: []Gain{NewGain(cell.TotalCPU, stat.Comparison{Ratio: 0.8, Lo: 0.7, Hi: 0.9, Pairs: 8, Verdict: stat.Better})}}
	c.Setting.GC = setting(800, 16*mib)
	r := &Answer{Outcome: Recommended, Headline: "set it", Base: base, Setting: c.Setting, Objective: CPU, Tolerance: 0.02,
		Choices: []Choice{c}, Doubts: []string{"contention", "few collections"}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "set it\n  doubt: contention\n  doubt: GOGC=800 GOMEMLIMIT=16MiB: its limit is tight\n" +
		"  1 more doubt: in the report, "
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

// TestRatiosAreReadable: a ratio hardly off 1 is printed as 1.00, unless something
// depends on the difference.
func TestRatiosAreReadable(t *testing.T) {
	for want, i := range map[string]Interval{
		"1.00x [0.97, 1.03]":   {1.0001, 0.97, 1.03},
		"1.00x [1.00, 1.00]":   {0.9999, 0.9998, 1.0001},
		"0.98x [0.97, 0.9996]": {0.98, 0.97, 0.9996},
		"1.02x [1.0004, 1.04]": {1.02, 1.0004, 1.04},
	} {
		if got := ratioText(i); got != want {
			t.Errorf("%+v: %s, want %s", i, got, want)
		}
	}
	for want, i := range map[string]Interval{
		"no difference in p99 [-2, 3] %":     {1.0001, 0.98, 1.03},
		"no difference in p99 [-8, 21] %":    {0.9999, 0.92, 1.21},
		"10 % less p99 [-50, 30]":            {0.9, 0.7, 1.5},
		"between 0.02 and 22 times the p99":  {0.11, 0.02, 21.6},
		"between 0.02 and 100 times the p99": {0.9, 0.02, 99.7},
		"200 % more p99 [100, 300]":          {3, 2, 4},
	} {
		if got := less(i, "p99"); got != want {
			t.Errorf("%+v: %s, want %s", i, got, want)
		}
	}
}

func TestTimesHaveOneForm(t *testing.T) {
	for _, c := range []struct {
		metric string
		v      float64
		want   string
	}{
		{stat.LatencyMetric(cell.HistResponse, "p99"), 146.11e6, "146 ms"},
		{stat.LatencyMetric(cell.HistResponse, "p99"), 970e3, "970 µs"},
		{cell.WallTime, 0.97, "0.97 s"},
	} {
		if got := valueText(c.metric, c.v); got != c.want {
			t.Errorf("%s %g: %q, want %q", c.metric, c.v, got, c.want)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNothingNegativeIsPrinted makes up runs whose costs fit no line, some of them almost all
// collection. Intervals must be in order and no figure below 0.
func TestNothingNegativeIsPrinted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 50 {
		var pilots []Pilot
		for _, percent := range []int{100, 400, 800} {
			p := mustPilot(t, steady(20+rng.IntN(60)))
			p.GC, p.CPU = setting(percent, 0), 0.02+rng.Float64()*rng.Float64()
			p.GCSeconds, p.Wall = p.CPU*rng.Float64(), p.CPU*(0.5+rng.Float64())
			p.PeakBytes = (4 + 60*rng.Float64()) * mib
			pilots = append(pilots, p)
		}
		m, err := NewModel(pilots)
		if err != nil {
			t.Fatal(err)
		}
		r := &Answer{Base: cell.Config{GC: cell.DefaultGC}, Measured: measuredOf(pilots)}
		for _, gc := range []cell.GC{setting(10, 0), setting(100, 0), setting(200, 0), setting(400, 0), setting(3200, 0),
			setting(-1, 8*mib), setting(-1, 64*mib), setting(400, 32*mib)} {
			r.Predicted = append(r.Predicted, m.Expect(gc))
		}
		r.Frontier = r.Predicted
		var b strings.Builder
		if err := r.WriteMore(&b); err != nil {
			t.Fatal(err)
		}
		if bad := regexp.MustCompile(`[ \[]-\d.*`).FindString(b.String()); bad != "" {
			t.Errorf("trial %d prints %q", trial, bad)
		}
		agreesWithRuns(t, fmt.Sprintf("trial %d", trial), r)
	}
}

// agreesWithRuns wants every interval in order, and around the measurements if the setting ran.
func agreesWithRuns(t *testing.T, name string, r *Answer) {
	t.Helper()
	for _, p := range r.Predicted {
		for _, k := range kinds {
			i := *k.of(&p.Figures)
			if i.Lo < 0 || i.Mid < i.Lo || i.Hi < i.Mid {
				t.Errorf("%s: %s at %s: %+v is out of order", name, k.name, p.GC, i)
			}
			if p.Measured == nil || i == (Interval{}) {
				continue
			}
			if was := k.of(&p.Measured.Figures).Mid; was < i.Lo*(1-1e-9) || was > i.Hi*(1+1e-9) {
				t.Errorf("%s: %s at %s: %+v is printed beside %v measured", name, k.name, p.GC, i, was)
			}
		}
	}
}

func TestPredictionsAgreeWithTheRuns(t *testing.T) {
	for _, noise := range []float64{0.01, 0.1, 0.25} {
		for _, share := range []float64{0.02, 0.3} {
			r, err := tuneSimulated(t, program(share), noise, nil)
			if err != nil {
				t.Fatal(err)
			}
			measured := 0
			for _, p := range r.Predicted {
				if p.Measured != nil {
					measured++
				}
			}
			if measured < 2 {
				t.Errorf("noise %v: %d measured settings, want two at least", noise, measured)
			}
			agreesWithRuns(t, fmt.Sprintf("noise %v, share %v", noise, share), r)
		}
	}
}

// TestWhatTheFirstRunTells wants findings of the first run among the doubts:
// processes left behind, and much output.
func TestWhatTheFirstRunTells(t *testing.T) {
	simulation, rng := program(0.3), rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
		Seed: 1}
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := simulation.record(c, 0.01, rng)
		rec.Cell.Block = block
		rec.Warn("left-behind", "the program left processes behind")
		rec.Warn("killed", "it did not end after SIGTERM")
		rec.Set(stdoutMetric, 40*mib)
		rec.Set(stderrMetric, 150*mib)
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Doubts, "\n")
	for _, want := range []string{"left processes behind", "did not end after SIGTERM", "prints 190 MiB"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("want %q once in\n%s", want, all)
		}
	}
}

// TestMoreOfAFigure: if more of a figure is better, the answer says how much more there is, not
// how much less of its inverse.
func TestMoreOfAFigure(t *testing.T) {
	for objective, want := range map[Objective]string{
		"max:trees": "25 % more trees [0, 67] by 4 paired rounds; up to 67 % may be gained",
		"min:trees": "20 % less trees [0, 40] by 4 paired rounds; up to 40 % may be saved",
	} {
		a := Answer{Objective: objective, Base: cell.Config{Workload: "exec", GC: cell.DefaultGC}, Outcome: Inconclusive,
			Reason: Open}
		cost := Interval{0.8, 0.6, 1}
		a.Choices = []Choice{{Name: Fastest, Setting: a.Base, Cost: cost, Memory: Interval{1.05, 0.77, 2.8},
			Gains: []Gain{{Metric: objective.costName(false), Ratio: cost, Default: 0.01, Pairs: 4}}}}
		if got := a.Sentence(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", objective, got, want)
		}
		var table strings.Builder
		a.writeChoices(&table)
		if rises := objective == "max:trees"; strings.Contains(table.String(), "1.25x") != rises ||
			strings.Contains(table.String(), "0.01") == rises || !strings.Contains(table.String(), "1.05x [0.77, 2.80]") {
			t.Errorf("%s: %s", objective, table.String())
		}
	}
}
