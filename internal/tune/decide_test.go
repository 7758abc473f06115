package tune

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestDecideWithoutRounds: if no fresh round fitted into the budget, none of them shows that
// the collector has nothing to do.
func TestDecideWithoutRounds(t *testing.T) {
	idle := &cell.Record{}
	for name, tc := range map[string]struct {
		base []*cell.Record
		want string
	}{
		"no rounds":             {nil, Inconclusive},
		"rounds without cycles": {[]*cell.Record{idle, idle, idle, idle}, DefaultGood},
	} {
		u := &tuning{Config: Config{Objective: CPU}, answer: &Answer{Choices: []Choice{
			{Name: Fastest, Setting: cell.Config{GC: setting(800, 0)}, Outcome: Inconclusive, Reason: "of the choice"}}}}
		if err := u.decide([][]*cell.Record{tc.base, nil}); err != nil {
			t.Fatal(err)
		}
		if u.answer.Outcome != tc.want {
			t.Errorf("%s: %s: %s", name, u.answer.Outcome, u.answer.Reason)
		}
	}
}

// TestOnlyCandidateIsToday: more memory would not help where no other setting may be tried.
func TestOnlyCandidateIsToday(t *testing.T) {
	r, err := tuneSimulated(t, program(0.3), 0.01, func(c *Config) { c.Settings = []cell.GC{cell.DefaultGC} })
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Inconclusive || !strings.Contains(r.Headline, "the only candidate is today's") {
		t.Errorf("%s: %s", r.Outcome, r.Headline)
	}
}

// TestSleepIsNotShort: what hardly uses a CPU and is no Go program is not refused for taking too little time.
func TestSleepIsNotShort(t *testing.T) {
	tuned := newTuning(Config{Objective: CPU}, func(c cell.Config, _ int) (*cell.Record, error) {
		rec := &cell.Record{Cell: cell.Cell{Config: c}}
		rec.Set(cell.WallTime, 1)
		rec.Warn("not-go", "no collection was seen")
		return rec, nil
	})
	if err := tuned.tune(); !errors.Is(err, errNoCycles) {
		t.Error(err)
	}
}

// TestReplacesWhatTakesTooMuch: the first setting of the proof takes more memory there than allowed. It leaves after
// two rounds, and another is proven.
func TestReplacesWhatTakesTooMuch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU, Seed: 1}
	simulated := program(0.3)
	var greedy cell.GC
	ran, today := 0, 0.0
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := simulated.record(c, 0.01, rng)
		rec.Cell.Block = block
		switch {
		case c.GC == cell.DefaultGC:
			today = rec.Metrics[cell.RSSPeak]
		case block > 0 && greedy == (cell.GC{}):
			greedy = c.GC
			fallthrough
		case block > 0 && c.GC == greedy:
			ran++
			rec.Set(cell.RSSPeak, 2.5*max(today, 80*mib))
		}
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Recommended || r.Setting.GC == greedy || ran > fewRounds+1 || r.Runs > mostRuns {
		t.Errorf("%s: %s; %s ran %d times in the proof; %d runs", r.Outcome, r.Headline, greedy, ran, r.Runs)
	}
	if others := strings.Join(r.Others, "; "); !strings.Contains(others, "twice is allowed") {
		t.Errorf("also: %q", others)
	}
}

// TestForeignHeaps: a small heap in gctrace beside a large process says nothing about what limit that process needs. A
// program that runs alone may have as much outside its heap, and gets its limits.
func TestForeignHeaps(t *testing.T) {
	small := program(0.3)
	small.life.points = []point{{1, mib, 0}, {small.life.total, mib, 0}}
	small.life.costPerByte *= 3
	const taken = 60 * mib
	for _, objective := range []Objective{CPU, RSS, Wall} {
		for _, alone := range []bool{false, true} {
			rng, limits := rand.New(rand.NewPCG(5, 5)), map[int64]bool{}
			c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC},
				Objective: objective, Seed: 1, Budget: time.Hour}
			r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
				limits[c.GC.LimitBytes] = true
				rec := small.record(c, 0.01, rng)
				rec.Cell.Block = block
				rec.Set(cell.RSSPeak, taken)
				if !alone {
					rec.Set(cell.RSSLargest, taken)
				}
				return rec, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			below, doubts := false, strings.Join(r.Doubts, "\n")
			for limit := range limits {
				below = below || limit > 0 && limit < taken
			}
			said := strings.Contains(doubts, "gctrace explains") && strings.Contains(doubts, "of the 60 MiB that a process took")
			if limit := r.Applied().GC.LimitBytes; below != alone || said == alone || !alone && limit > 0 && limit < taken {
				t.Errorf("%s, alone %v: limits %v; %s\n%s", objective, alone, limits, r.Headline, doubts)
			}
		}
	}
}

// TestGrowingIsNotForeign: what a heap that grows gained after its last collection is explained.
func TestGrowingIsNotForeign(t *testing.T) {
	for _, c := range []struct {
		taken   float64
		foreign bool
	}{{150 * mib, false}, {400 * mib, true}} {
		rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{GC: cell.DefaultGC}}}
		for metric, v := range map[string]float64{cell.WallTime: 1, cell.TotalCPU: 1, cell.RSSPeak: c.taken,
			cell.RSSLargest: c.taken} {
			rec.Set(metric, v)
		}
		for at, live := int64(1), int64(2*mib); live <= 64*mib; at, live = at+1, 2*live {
			rec.Cycles = append(rec.Cycles, cell.Cycle{AtNs: at * 1e8, MarkNs: 1e6, CPUNs: 1e6, StartBytes: live, EndBytes: live,
				LiveBytes: live, GoalBytes: live, Procs: 2})
		}
		p, err := NewPilot(rec)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := NewModel([]Pilot{p}); err != nil || m.foreign > 0 != c.foreign {
			t.Error(c, err, m.doubts)
		}
	}
}
