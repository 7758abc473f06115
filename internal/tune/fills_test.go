package tune

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestServersFillTheirHeap: a server lives on, so no setting is recommended for what it takes and costs in a load that
// ends before its heap is full. The answer says for how long to load it instead, and if it does that,
// the setting takes in a long life what it took.
func TestServersFillTheirHeap(t *testing.T) {
	for _, tc := range []struct {
		heaps float64 // live data allocated in one run, times
		set   bool
		said  bool
	}{{1.2, false, true}, {2.5, true, true}, {100, true, false}} {
		p := program(0.3)
		live := p.life.points[0].live
		p.life.total = tc.heaps * live
		p.life.points[1].allocated = p.life.total
		p.life.costPerByte *= 100 / tc.heaps
		answer := func(workload string, params map[string]string) *Answer {
			rng := rand.New(rand.NewPCG(5, 5))
			c := Config{Base: cell.Config{Workload: workload, Command: []string{"prog"}, GC: cell.DefaultGC, Params: params},
				Objective: CPU, Seed: 1}
			r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
				rec := p.record(c, 0.01, rng)
				rec.Cell.Block = block
				return rec, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := answer("serve", map[string]string{"for": "3s", "rate": "100"})
		text := r.Headline + "; " + strings.Join(r.Doubts, "; ")
		if set := r.Outcome == Recommended; set != tc.set || r.Outcome == DefaultGood || strings.Contains(text, "give --for ") != tc.said {
			t.Errorf("%v heaps: %s", tc.heaps, text)
		}
		if !tc.set && len(r.Choices) > 0 {
			t.Errorf("%v heaps: settings that gain nothing were compared: %s", tc.heaps, r.Choices[0].Setting.GC)
		}
		if r.Outcome == Recommended {
			short := p.life.run(r.Setting.GC, 6*mib).peak
			long := p.life
			long.total *= 20
			long.points = []point{{1, live, 0}, {long.total, live, 0}}
			if got := long.run(r.Setting.GC, 6*mib).peak; got > short/full {
				t.Errorf("%v heaps: %s fills %s in its runs, and %s later", tc.heaps, r.Setting.GC, bytesText(short),
					bytesText(got))
			}
		}
		if r := answer("exec", nil); r.Outcome != Recommended {
			t.Errorf("%v heaps: a program that ends: %s", tc.heaps, r.Headline)
		}
		r = answer("serve", map[string]string{"load": "hey"})
		text = r.Headline + "; " + strings.Join(r.Doubts, "; ")
		if said := strings.Contains(text, "give a longer load"); said != tc.said {
			t.Errorf("%v heaps, a load command: %s", tc.heaps, text)
		}
	}
}

// TestGrowingServers: a limit that suits a server whose live data still grow when its load ends costs much soon after.
// Data that stay, or that the server builds before its load, are no growth.
func TestGrowingServers(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, end float64 // live data, as a share
		began      float64 // load, as a share of the life
		grows      bool
	}{"leak": {0.2, 1, 0.1, true}, "steady": {1, 1, 0.1, false}, "slow": {0.93, 1, 0.1, false}, "start": {0.2, 1, 0.95, false}} {
		rng := rand.New(rand.NewPCG(5, 5))
		p := program(0.3)
		live, points := p.life.points[0].live, 200
		p.life.points = nil
		for i := range points {
			share := float64(i) / float64(points-1)
			p.life.points = append(p.life.points, point{share * p.life.total, live * (tc.begin + share*(tc.end-tc.begin)), 0})
		}
		c := Config{Base: cell.Config{Workload: "serve", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU, Seed: 1}
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			rec := p.record(c, 0.01, rng)
			rec.Cell.Block = block
			rec.Cycles = p.life.cycles(c.GC, rec.Metrics[cell.WallTime], rec.Metrics[cell.GCCPUTotal])
			rec.Set(cell.LoadBegan, tc.began*rec.Metrics[cell.WallTime])
			return rec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Headline + "; " + strings.Join(r.Doubts, "; ")
		if said := strings.Contains(text, "live data grow for as long"); said != tc.grows || said && r.Outcome == Recommended {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestShortLoadsOfLeaks: under a longer load the heap of a server that leaks is larger, and again not full.
func TestShortLoadsOfLeaks(t *testing.T) {
	p := program(0.3)
	pilot := p.run(cell.DefaultGC, 0, rand.New(rand.NewPCG(5, 5)))
	for grown, leaks := range map[float64]bool{0: false, 1.05: false, 1.7: true} {
		pilot.grown = grown
		u := newTuning(Config{Base: cell.Config{Workload: "serve", GC: cell.DefaultGC, Params: map[string]string{"for": "3s"}},
			Budget: time.Minute}, nil)
		u.pilots = []Pilot{pilot}
		text := u.short(setting(800, 256*mib), "")
		if !strings.Contains(text, "give --for ") || strings.Contains(text, "by 70 % in half of the load: if that goes on") != leaks {
			t.Errorf("live data grow by %v: %s", grown, text)
		}
	}
}

// TestDueRequestsAreFixedWork: a server that serves what is due at a rate does the same work in the same time, however
// its allocation varies. A load command may as well send for a fixed time what it can.
func TestDueRequestsAreFixedWork(t *testing.T) {
	for load, timed := range map[string]bool{"": false, "hey -z 3s": true} {
		rng := rand.New(rand.NewPCG(5, 5))
		c := Config{Base: cell.Config{Workload: "serve", Command: []string{"prog"}, GC: cell.DefaultGC,
			Params: map[string]string{"load": load, "rate": "100", "for": "3s"}}, Objective: CPU, Seed: 1}
		runs := 0
		r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
			p := program(0.3)
			p.life.total *= 1 + 0.2*float64(runs%3)
			p.life.points[1].allocated = p.life.total
			runs++
			rec := p.record(c, 0.01, rng)
			rec.Cell.Block = block
			rec.Set(cell.WallTime, 3.5+0.001*rng.Float64())
			return rec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Headline, "fixed time and not for fixed work") != timed {
			t.Errorf("load %q: %s", load, r.Headline)
		}
	}
}

// cycles are those of a life whose live data change, and that allocates nothing while marking.
func (t *trajectory) cycles(gc cell.GC, wall, seconds float64) (out []cell.Cycle) {
	for allocated, marked := 0.0, 0.0; ; {
		goal := percentGoal(gc.Percent, marked, 0)
		if gc.LimitBytes > 0 {
			goal = min(goal, max(limitGoal(float64(gc.LimitBytes)-6*mib), marked+mib))
		}
		if allocated += goal - marked; allocated >= t.total {
			break
		}
		marked, _ = t.at(allocated)
		out = append(out, cell.Cycle{AtNs: int64(allocated / t.total * wall * 1e9), MarkNs: 1e6, StartBytes: int64(goal),
			EndBytes: int64(goal), LiveBytes: int64(marked), GoalBytes: int64(goal), Procs: 2})
	}
	for i := range out {
		out[i].CPUNs = int64(seconds / float64(len(out)) * 1e9)
	}
	return out
}
