package claim

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// found is a published run with one finding.
func found(c *Claim, cpu, day string, r Result, parts ...Estimate) *PublishedRun {
	f := finding{ID: c.ID, Asks: c.asks(), Verdict: r.Verdict, Tentative: r.Tentative}
	for _, e := range parts {
		f.Parts = append(f.Parts, [5]float64{e.Value, e.Lo, e.Hi, e.Floor, float64(e.N)})
	}
	return &PublishedRun{Day: day, Size: Quick, Machine: cell.Machine{CPU: cpu, CPUs: 2, GoVersion: "go1.26"},
		findings: map[string]finding{c.ID: f}}
}

var twofold = &Claim{ID: "x/effect", Experiment: Experiment{Run: "alloc --gc default,off"},
	Test: Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 2}}

// runsOf returns a run for each ratio, plus or minus spread as a factor; byte i of machines
// and days names the machine and day of run i.
func runsOf(machines, days string, spread float64, ratios ...float64) (runs []*PublishedRun) {
	for i, ratio := range ratios {
		e := Estimate{ratio, ratio / spread, ratio * spread, 10, 1.01}
		runs = append(runs, found(twofold, machines[i:i+1], days[i:i+1], twofold.Test.judge([]Estimate{e}), e))
	}
	return runs
}

func TestPoolVerdicts(t *testing.T) {
	for _, test := range []struct {
		name string
		runs []*PublishedRun
		want string // verdict, with ? if tentative
		text string
	}{
		{"none", nil, "untestable", ""},
		{"one", runsOf("a", "1", 1.02, 2), "holds", "one run alone"},
		{"agree", runsOf("aaa", "123", 1.02, 1.9, 2, 2.2), "holds", "3 runs agree"},
		{"two agree, though they say little of the variance", runsOf("ab", "12", 1.02, 1.9, 2.6), "holds", "2 runs agree"},
		{"by machine", runsOf("aabb", "1122", 1.02, 2, 2.1, 1.01, 1), "varies", "it varies with the machine or the day"},
		{"by machine alone", runsOf("aabb", "1234", 1.02, 2, 2.1, 1.01, 1), "varies", "it varies with the machine"},
		{"by nothing known", runsOf("aabb", "1212", 1.02, 2, 1, 1.01, 2.1), "varies", "the runs do not tell"},
		{"unsure runs leave it to the pool", runsOf("aaaaaa", "123456", 1.12, 1.35, 1.5, 1.5, 1.38, 1.52, 1.49), "holds?", "pooled"},
		{"agree but unsure, pooled surely", runsOf("aaaa", "1234", 1.14, 1.6, 1.6, 1.61, 1.59), "holds", "4 runs agree"},
	} {
		if test.name == "none" {
			twofold := *twofold
			twofold.CPUs = 64
			if p := twofold.Pool(runsOf("a", "1", 1.02)); p.Verdict != Untestable {
				t.Errorf("no machine has 64 CPUs: %+v", p.Result)
			}
			continue
		}
		p := twofold.Pool(test.runs)
		word := string(p.Verdict)
		if p.Tentative {
			word += "?"
		}
		if word != test.want || !strings.Contains(p.Text, test.text) {
			t.Errorf("%s: %s (%s), estimate %+v, want %s (%s)", test.name, word, p.Text, p.Estimate, test.want, test.text)
		}
	}
	changed := *twofold
	changed.Test = Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 3}
	if p := changed.Pool(runsOf("a", "1", 1.02, 2)); p.Verdict != NotRun || len(p.Runs) != 0 {
		t.Errorf("a run that asked something else counts: %+v", p)
	}
	if contradicted, stated := LeaveOneOut([]*Claim{twofold}, runsOf("abc", "123", 1.02, 2, 2.1, 1)); contradicted != 1 || stated != 1 {
		t.Errorf("%d of %d contradicted; want 1 of 1, as the others vary without either of the first two", contradicted, stated)
	}
}

// TestPoolScales holds that each kind of figure is pooled on its own scale: ratios by the
// geometric mean, shares over all trials, counts with 0 by the mean.
func TestPoolScales(t *testing.T) {
	close := func(a, b float64) bool { return math.Abs(a-b) < 1e-3*(1+b) }
	p, e := poolPart(twofold.Test, []Estimate{{1, 0.5, 2, 5, 1.2}, {4, 2, 8, 5, 0}})
	if !close(e.Value, 2) || !close(e.Lo*e.Hi, 4) || e.N != 10 || e.Floor != 1.2 || p.Between == 0 {
		t.Errorf("ratios: %+v", e)
	}
	share := Share{Side{Metric: "/trial/hits:trials"}, Side{Metric: "/trial/count:trials"}, 0, 0.02}
	_, e = poolPart(share, []Estimate{wilson(0, 100), wilson(0, 10_000)})
	if e.Value != 0 || e.Lo != 0 || e.Hi > 0.1 || e.Hi == 0 {
		t.Errorf("no hit: %+v", e)
	}
	if _, e = poolPart(share, []Estimate{wilson(500, 1000), wilson(480, 1000)}); !close(e.Value, 0.49) || e.Lo > 0.48 || e.Hi < 0.5 {
		t.Errorf("half: %+v", e)
	}
	if _, e = poolPart(Range{Of: Side{Metric: cell.MajorFaults}}, []Estimate{{}, {Value: 2, Hi: 4}}); e.Value < 0 || e.Value > 2 {
		t.Errorf("counts: %+v", e)
	}
	for _, n := range []float64{1, 20, 5000, 123_456} {
		for _, hits := range []float64{0, 1, n / 2, n} {
			if got := wilson(hits, n).trials(); math.Abs(got-n) > 1e-6*n+0.5 {
				t.Errorf("%v of %v: the interval says %v trials", hits, n, got)
			}
		}
	}
}

func TestBeside(t *testing.T) {
	judged := func(ratio, spread float64) Result {
		parts := []Estimate{{ratio, ratio / spread, ratio * spread, 10, 1.01}}
		r := twofold.Test.judge(parts)
		r.Parts = parts
		return r
	}
	steady := twofold.Pool(runsOf("aaaa", "1234", 1.02, 2, 2.02, 1.98, 2))
	loose := twofold.Pool(runsOf("aaaa", "1234", 1.02, 1.6, 2.8, 1.5, 2.2))
	one := twofold.Pool(runsOf("a", "1", 1.02, 2))
	varies := twofold.Pool(runsOf("aaaa", "1234", 1.02, 2, 1, 2.1, 1))
	for _, test := range []struct {
		name string
		pool Pooled
		own  Result
		want string
	}{
		{"the same", steady, judged(2, 1.02), "agrees"},
		{"another figure", steady, judged(4, 1.02), "agrees, but the figure differs more than runs do"},
		{"another verdict", steady, judged(1, 1.02), "differs, more than runs do"},
		{"another verdict of loose runs", loose, judged(1.25, 1.02), "differs, as runs do"},
		{"one published run", one, judged(1, 1.02), "differs; one published run cannot tell how much runs do"},
		{"one of several verdicts", varies, judged(1, 1.02), "agrees"},
		{"open", steady, Result{Verdict: Open}, ""},
		{"nothing published", Pooled{}, judged(2, 1.02), ""},
	} {
		if got := test.pool.Beside(test.own); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestPublish holds that a published run reads back, without the results of other calls.
func TestPublish(t *testing.T) {
	claims, err := Select(nil, []string{"000/ticker", "000/off-median", "000/pauses-short"})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []Outcome
	for i, c := range claims {
		run := &store.Run{Name: c.Experiment.Name(Quick), Created: time.Date(2026, 1, i, 0, 0, 0, 0, time.UTC), Seed: 7,
			Machine: cell.Machine{OS: "linux", CPU: "a CPU", CPUs: 2, Hostname: "secret"}}
		o := Outcome{Claim: c, Run: run}
		o.Verdict, o.Tentative, o.Parts = Holds, i == 1, []Estimate{{1, 0.5, math.Inf(1), 5, 1.1}}
		outcomes = append(outcomes, o)
	}
	outcomes[0].Run.Seed = 6
	var file bytes.Buffer
	if err := Publish(&file, outcomes, "a note"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file.String(), "secret") {
		t.Error("the record names the host")
	}
	run, err := readPublished(&file)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := run.finding(claims[1])
	if len(run.findings) != 2 || run.Size != Quick || run.Day != "2026-01-02" || run.Note != "a note" || !ok || !f.Tentative {
		t.Errorf("read back: %+v", run)
	}
	if parts, whole := f.estimates(claims[1]); !whole || parts[0].N != 5 || parts[0].Hi != math.MaxFloat64 {
		t.Errorf("parts: %+v", parts)
	}
	if err := Publish(&file, nil, ""); err == nil {
		t.Error("nothing was published without an error")
	}
	if _, err := readPublished(strings.NewReader("{}\n{nonsense")); err == nil {
		t.Error("nonsense was read")
	}
}

// TestPublishedRuns holds that the published runs parse, and that each has findings on current claims.
func TestPublishedRuns(t *testing.T) {
	runs, err := PublishedRuns()
	if err != nil || len(runs) < 2 {
		t.Fatalf("%d published runs, %v", len(runs), err)
	}
	claims, err := Select(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		n := 0
		for _, c := range claims {
			if _, ok := run.finding(c); ok {
				n++
			}
		}
		if n == 0 || run.Machine.CPU == "" || run.Machine.GoVersion == "" || len(run.Day) != 10 {
			t.Errorf("run %d (%s): %d findings that count", i+1, run.line(), n)
		}
	}
}
