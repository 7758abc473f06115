package tune

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// obedient is a record of a program with 20 MiB live that runs under GOGC=set, but has the heap
// goals of GOGC=goals, with nothing live before the first; -1 gives no goals.
func obedient(goals, set, cycles int) *cell.Record {
	rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: setting(set, 0)}}}
	for i := range cycles {
		goal := int64(float64(20*mib) * (1 + float64(goals)/100))
		if i == 0 {
			goal = int64(goals) * 4 * mib / 100
		}
		if goals < 0 {
			goal = 0
		}
		rec.Cycles = append(rec.Cycles, cell.Cycle{LiveBytes: 20 * mib, GoalBytes: goal, StartBytes: goal - mib, EndBytes: goal})
	}
	return rec
}

func TestSelfSet(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second *cell.Record
		calls         []string
		want          string // "" for a program that obeys
	}{
		"obeys":                {obedient(100, 100, 20), obedient(400, 400, 8), nil, ""},
		"obeys, has a call":    {obedient(100, 100, 20), obedient(400, 400, 8), []string{setPercent}, ""},
		"fifty":                {obedient(50, 100, 20), obedient(50, 400, 20), []string{setPercent}, "about GOGC=49"},
		"fifty, unknown":       {obedient(50, 100, 20), obedient(50, 400, 20), nil, "a script sets GOGC, or"},
		"hundred":              {obedient(100, 100, 20), obedient(100, 400, 20), []string{setPercent}, "about GOGC=98"},
		"hundred or a limit":   {obedient(100, 100, 20), obedient(100, 400, 20), []string{setPercent, setLimit}, "its goals stay near 40 MiB"},
		"off":                  {obedient(0, 100, 0), obedient(0, 400, 0), []string{setPercent}, "turns its collector off, allocates too little"},
		"allocates nothing":    {obedient(0, 100, 0), obedient(0, 400, 0), nil, ""},
		"off, forced":          {obedient(-1, 100, 9), obedient(-1, 400, 9), nil, "collects when it chooses"},
		"only in the second":   {obedient(100, 100, 20), obedient(50, 400, 20), nil, ""},
		"too few to say":       {obedient(50, 100, 2), obedient(50, 400, 1), nil, ""},
		"few, but they agree":  {obedient(200, 100, 3), obedient(200, 50, 3), nil, "about GOGC=195"},
		"two goals":            {obedient(400, 100, 2), obedient(400, 200, 2), nil, "take GOGC out of the script (and give it as --current)"},
		"few, and they differ": {obedient(200, 100, 2), obedient(400, 50, 2), nil, ""},
		"goals under a limit ": {obedient(100, 100, 20), obedient(200, 400, 20), []string{setLimit}, ""},
	} {
		got := selfSet(tc.first, tc.second, tc.calls)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRecordedObey: recorded programs follow GOGC, though the compiler sets its
// collector while it starts.
func TestRecordedObey(t *testing.T) {
	for _, name := range []string{"compile", "cue", "gofmt", "invoice", "query"} {
		by := map[int]*cell.Record{}
		for _, run := range readScan(t, name).Runs {
			if run.Limit == 0 && len(run.Cycles) > 0 {
				by[run.GOGC] = run.record()
			}
		}
		for _, second := range []int{50, 400} {
			if why := selfSet(by[100], by[second], nil); why != "" {
				t.Errorf("%s, GOGC=100 and %d: %s: %+v %+v", name, second, why, obeys(by[100]), obeys(by[second]))
			}
		}
	}
}

// TestSetsItselfForAWhile has a program whose goals follow GOGC in the first quarter of its
// cycles, and GOGC=50 in the rest.
func TestSetsItselfForAWhile(t *testing.T) {
	run := func(percent int) *cell.Record {
		rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: setting(percent, 0)}}}
		for i := range 40 {
			goal := int64(30 * mib)
			if i == 0 {
				goal = int64(percent) * 4 * mib / 100
			} else if i < 10 {
				goal = int64(20+20*percent/100) * mib
			}
			rec.Cycles = append(rec.Cycles, cell.Cycle{LiveBytes: 20 * mib, GoalBytes: goal, StartBytes: goal - mib, EndBytes: goal})
		}
		return rec
	}
	why := selfSet(run(100), run(400), []string{setPercent})
	for _, want := range []string{"about GOGC=49,", "no effect on 30 of 40 collections"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
}

// TestHoldsCollectionOff runs a program that turns its collector off, and on again after 200 files.
func TestHoldsCollectionOff(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "files")
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/programs/files").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := CollectorCalls(exe); !slices.Equal(got, []string{setPercent}) {
		t.Errorf("calls %q", got)
	}
	for _, percent := range []int{100, 400} {
		config := cell.Config{Workload: "exec", Command: []string{exe}, GC: setting(percent, 0)}
		rec, _, err := runner.New(runner.Config{}).Run(t.Context(), cell.Cell{Config: config, Timeout: time.Minute})
		if err != nil || rec.Err != nil {
			t.Fatal(err, rec.Err)
		}
		study := tuning{answer: &Answer{}}
		study.warn(&rec)
		if doubts := study.answer.Doubts; len(doubts) != 1 || !strings.Contains(doubts[0], "began when the heap had 5") {
			t.Errorf("GOGC=%d: doubts %q, warnings %v", percent, doubts, rec.Warnings)
		}
	}
}

// TestExceedsItsLimit: goals of 15 MiB under a limit of 16 reveal another limit, unless more is
// live than the limit allows.
func TestExceedsItsLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		limit, goal, live int64
		cycles            int
		want              bool
	}{
		"another limit": {16, 15, 2, 5, true}, "the limit": {16, 10, 2, 5, false}, "none": {0, 15, 2, 5, false},
		"too much live": {16, 20, 20, 5, false}, "one collection": {24, 32, 8, 1, true}, "one as the limit": {24, 16, 8, 1, false},
	} {
		rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: setting(800, tc.limit*mib)}}}
		for range tc.cycles {
			rec.Cycles = append(rec.Cycles, cell.Cycle{GoalBytes: tc.goal * mib, LiveBytes: tc.live * mib})
		}
		if got := exceeds(rec); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestUnseenLimit: a limit that no run needed may not be in force, in a program that may set its own.
func TestUnseenLimit(t *testing.T) {
	for _, tc := range []struct {
		calls []string
		goal  int64 // MiB, under GOGC=800 and a limit of 64 MiB
		said  bool
	}{{[]string{setLimit}, 88, true}, {[]string{setLimit}, 55, false}, {[]string{setPercent}, 88, false}} {
		tuned := newTuning(Config{Base: cell.Config{GC: cell.DefaultGC}, Objective: CPU, Calls: tc.calls}, nil)
		tuned.answer.Setting.GC = setting(800, 64*mib)
		rec := &cell.Record{Cell: cell.Cell{Config: tuned.answer.Setting}, Cycles: []cell.Cycle{
			{StartBytes: 30 * mib, EndBytes: 31 * mib, LiveBytes: 10 * mib, GoalBytes: 32 * mib},
			{StartBytes: 50 * mib, EndBytes: 51 * mib, LiveBytes: 10 * mib, GoalBytes: tc.goal * mib}}}
		tuned.pilots = []Pilot{mustPilot(t, rec)}
		tuned.conclude()
		if said := strings.Contains(strings.Join(tuned.answer.Doubts, "; "), "no run needed its GOMEMLIMIT"); said != tc.said {
			t.Errorf("%v: doubts %q", tc, tuned.answer.Doubts)
		}
	}
}

// TestSaysThatWorkVaries tunes a program that does up to three times as much in some
// runs, and one that does not.
func TestSaysThatWorkVaries(t *testing.T) {
	for _, most := range []float64{1, 3} {
		rng := rand.New(rand.NewPCG(5, 5))
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU, Seed: 1}
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			program := program(0.3)
			share := 1 + (most-1)*rng.Float64()
			program.work *= share
			program.life.total *= share
			program.life.points[1].allocated *= share
			return program.record(c, 0.01, rng), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if says := strings.Contains(strings.Join(r.Doubts, "; "), "same work each time"); says != (most > 1) {
			t.Errorf("work that differs by %v times: doubts %q", most, r.Doubts)
		}
	}
}

// TestSameWorkOfAGrowingHeap: runs of the same work end just before and just after a collection.
// The goal of the next collection bounds what no line shows, not the goal of the last.
func TestSameWorkOfAGrowingHeap(t *testing.T) {
	lines := [][4]int64{ // start, end, live, goal
		{4, 4, 2, 4}, {4, 5, 3, 4}, {7, 13, 11, 8}, {20, 26, 20, 23}, {35, 42, 33, 42}, {60, 87, 75, 68}, {135, 160, 104, 151},
	}
	tuning := newTuning(Config{Base: cell.Config{GC: cell.DefaultGC}}, nil)
	for run := range 6 {
		rec := &cell.Record{Cell: cell.Cell{Config: tuning.Base}}
		for i, c := range lines[:len(lines)-run%2] {
			rec.Cycles = append(rec.Cycles, cell.Cycle{AtNs: int64(i) * 30e6, MarkNs: 10e6, CPUNs: 10e6,
				StartBytes: c[0] * mib, EndBytes: c[1] * mib, LiveBytes: c[2] * mib, GoalBytes: c[3] * mib, Procs: 2})
		}
		rec.Set(cell.WallTime, 0.27)
		rec.Set(cell.TotalCPU, 0.3)
		rec.Set(cell.RSSPeak, 190*mib)
		tuning.pilots = append(tuning.pilots, mustPilot(t, rec))
	}
	if says := tuning.varies(); says != "" {
		t.Error(says)
	}
}

func TestCollectorCalls(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := CollectorCalls(exe); len(got) > 2 {
		t.Errorf("this test: %q", got)
	}
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		source string
		want   []string
	}{
		"none":    {"package main\n\nfunc main() { println(\"runtime/debug.setGCPercent\") }\n", nil},
		"percent": {"package main\n\nimport \"runtime/debug\"\n\nfunc main() { debug.SetGCPercent(50) }\n", []string{setPercent}},
	} {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(tc.source), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, name)
		if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if got := CollectorCalls(out); !slices.Equal(got, tc.want) {
			t.Errorf("%s, stripped: %q, want %q", name, got, tc.want)
		}
	}
	if got := CollectorCalls(filepath.Join(dir, "none.go")); got != nil {
		t.Errorf("a source file: %q", got)
	}
}

// TestOwnDefault has programs with a GOGC of their own where the environment has none, such as VictoriaMetrics.
func TestOwnDefault(t *testing.T) {
	unset := []string{cell.EnvGOGC, cell.EnvLimit}
	for name, tc := range map[string]struct {
		first, second *cell.Record
		unset         []string
		want          bool
	}{
		"fifty":     {obedient(50, 100, 20), obedient(400, 400, 8), unset, true},
		"a hundred": {obedient(100, 100, 20), obedient(400, 400, 8), unset, false},
		"few later": {obedient(50, 100, 20), obedient(1600, 1600, 1), unset, true},
		"given":     {obedient(50, 100, 20), obedient(400, 400, 8), nil, false},
		"always":    {obedient(50, 100, 20), obedient(50, 400, 20), unset, false},
	} {
		tuned := newTuning(Config{Base: cell.Config{GC: cell.DefaultGC, Unset: tc.unset}}, nil)
		got, a := tuned.ownDefault(tc.first, tc.second), tuned.answer
		if got != tc.want || got && (a.Outcome != Inconclusive || !strings.Contains(a.Reason, "--current 48")) {
			t.Errorf("%s: %t, %s: %s", name, got, a.Outcome, a.Reason)
		}
	}
}

// TestSetsItsLimit has programs that limit their memory themselves: always, and where no GOMEMLIMIT does.
func TestSetsItsLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		third   int // GOGC of the goals under the higher limit
		calls   []string
		outcome string
		says    string
	}{
		"always":         {50, []string{setLimit}, SetsItself, "neither GOGC nor GOMEMLIMIT has an effect"},
		"by default":     {150, []string{setLimit}, Inconclusive, "give its limit, as --current 100:LIMIT"},
		"perhaps a GOGC": {150, []string{setPercent, setLimit}, SetsItself, "about GOGC=49"},
	} {
		runs := 0
		tuned := newTuning(Config{Base: cell.Config{GC: cell.DefaultGC, Unset: []string{cell.EnvGOGC, cell.EnvLimit}},
			Objective: CPU, Calls: tc.calls, Budget: time.Hour}, func(c cell.Config, _ int) (*cell.Record, error) {
			runs++
			goals := 50
			if c.GC.LimitBytes > 0 {
				goals = tc.third
			}
			rec := obedient(goals, 100, 20)
			rec.Cell.Config = c
			for name, v := range map[string]float64{cell.WallTime: 1, cell.TotalCPU: 1, cell.RSSPeak: 50 * mib} {
				rec.Set(name, v)
			}
			return rec, nil
		})
		if err := tuned.tune(); err != nil {
			t.Fatal(err)
		}
		tuned.conclude()
		if a := tuned.answer; a.Outcome != tc.outcome || !strings.Contains(a.Headline, tc.says) || runs > 3 ||
			strings.Contains(a.Headline, "GOMEMLIMIT still acts") {
			t.Errorf("%s: %d runs, %s: %s", name, runs, a.Outcome, a.Headline)
		}
	}
}
