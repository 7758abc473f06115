package tune

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// steady is the handwritten record of a program with 20 MiB live at GOGC=100. It allocates 20 MiB
// between collections and 2 MiB while marking; each collection takes 10 ms of CPU time.
func steady(cycles int) *cell.Record {
	rec := &cell.Record{Cell: cell.Cell{Config: cell.Config{Workload: "exec", GC: cell.DefaultGC}}}
	for i := range cycles {
		rec.Cycles = append(rec.Cycles, cell.Cycle{AtNs: int64(i+1) * 50e6, MarkNs: 10e6, CPUNs: 10e6, IdleNs: 1e6,
			StartBytes: 42 * mib, EndBytes: 44 * mib, LiveBytes: 22 * mib, GoalBytes: 44 * mib, Procs: 2})
	}
	rec.Set(cell.WallTime, float64(cycles)*0.05+0.03)
	rec.Set(cell.TotalCPU, float64(cycles)*0.1)
	rec.Set(cell.RSSPeak, 52*mib)
	rec.Set(cell.MinorFaults, 13000)
	return rec
}

func mustPilot(t *testing.T, rec *cell.Record) Pilot {
	t.Helper()
	p, err := NewPilot(rec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}

func TestPilot(t *testing.T) {
	p := mustPilot(t, steady(40))
	if p.Cycles != 40 || p.Procs != 2 || !near(p.GCSeconds, 0.44, 1e-9) ||
		p.PeakHeapBytes != 44*mib {
		t.Errorf("%+v", p)
	}
	life := p.streams[0]
	// 42 MiB before the first, then 20 between and 2 within each; some at the end.
	if !near(life.total, (42+39*20+40*2)*mib, 0.02) {
		t.Errorf("allocated %.0f MiB in all", life.total/mib)
	}
	if live, _ := life.at(life.total / 2); !near(live, 20.5*mib, 0.001) {
		t.Errorf("%.1f MiB live", live/mib)
	}
	if !near(life.cost(20.5*mib), 0.011, 0.01) || life.spread > 1e-6 {
		t.Errorf("a cycle costs %v s, spread %v", life.cost(20.5*mib), life.spread)
	}
}

func TestPilotRefuses(t *testing.T) {
	rec := steady(0)
	if _, err := NewPilot(rec); !errors.Is(err, errNoCycles) {
		t.Errorf("no cycles: %v", err)
	}
	rec.Err = &cell.Failure{Kind: cell.FailTimeout, Message: "killed"}
	if _, err := NewPilot(rec); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a failed run: %v", err)
	}
}

// TestReplayFollowsThePacer compares the replay with the pacer's rules for a steady heap of 20.5
// MiB live: the goal is (1+GOGC/100) times the marked bytes, and the number of cycles is the
// allocated bytes over the room.
func TestReplayFollowsThePacer(t *testing.T) {
	p := mustPilot(t, steady(400))
	for _, percent := range []int{50, 100, 200, 400} {
		r := p.replayAll(cell.GC{Percent: percent}, 0)
		marked := (20.5 + 2) * mib
		if percent == 50 {
			marked = 20.5 * mib / (1 - 0.297*0.5) // the runway bounds allocation while marking
			marked = min(marked, 22.5*mib)
		}
		goal := marked * (1 + float64(percent)/100)
		cycles := p.streams[0].total / (goal - marked)
		if !near(r.peak, goal, 0.03) || !near(float64(r.cycles), cycles, 0.03) {
			t.Errorf("GOGC=%d: heap up to %.1f MiB, %d cycles; want %.1f MiB, %.0f", percent, r.peak/mib, r.cycles, goal/mib,
				cycles)
		}
	}
	if r := p.replayAll(cell.DisabledGC, 0); r.cycles != 0 || r.seconds != 0 || r.peak != p.streams[0].total {
		t.Errorf("off: %+v", r)
	}
	// A limit that leaves 10 MiB of room, with GOGC off.
	r := p.replayAll(cell.GC{Percent: -1, LimitBytes: 40 * mib}, 5*mib)
	if goal := (40 - 5 - 0.03*40) * mib; !near(r.peak, goal, 0.01) || r.starving {
		t.Errorf("under a limit: heap up to %.1f MiB, want %.1f; starving %t", r.peak/mib, goal/mib, r.starving)
	}
	if r := p.replayAll(cell.GC{Percent: -1, LimitBytes: 20 * mib}, 5*mib); !r.starving {
		t.Error("a limit below the live heap: not starving")
	}
	// If GOGC leaves little room, a limit out of reach changes nothing.
	was := p.replayAll(setting(2, 0), 5*mib)
	if is := p.replayAll(setting(2, 1<<30), 5*mib); is != was {
		t.Errorf("GOGC=2 with a limit of 1 GiB: %+v, without %+v", is, was)
	}
}

// TestFewCollectionsAreNotWithheld: whether a limit triggers one short collection or
// none hardly matters for CPU time.
func TestFewCollectionsAreNotWithheld(t *testing.T) {
	rec := steady(1)
	rec.Cycles[0].GoalBytes, rec.Cycles[0].CPUNs = 4*mib, 2e5
	m, err := NewModel([]Pilot{mustPilot(t, rec)})
	if err != nil {
		t.Fatal(err)
	}
	most := m.roof()
	for limit := most - 8*mib; limit <= most+2*mib; limit += mib {
		gc := setting(-1, limit)
		if p := m.Expect(gc); slices.Contains(p.Withheld, cpuKind) && m.expect(gc).seconds < 0.01 {
			t.Errorf("%s: withheld, for %d collections", gc, p.Cycles)
		}
	}
}

func TestPredictOnePilot(t *testing.T) {
	m, err := NewModel([]Pilot{mustPilot(t, steady(40))})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Expect(cell.DefaultGC)
	for name, c := range map[string]struct {
		got  Interval
		want float64
	}{
		"wall": {p.Wall, 2.03}, "cpu": {p.CPU, 4}, "share": {p.GCShare, 0.11}, "peak": {p.PeakBytes, 52 * mib},
	} {
		if !near(c.got.Mid, c.want, 0.04) || c.want < c.got.Lo || c.want > c.got.Hi {
			t.Errorf("%s at the pilot itself: %+v, measured %v", name, c.got, c.want)
		}
	}
	last := p
	for _, percent := range []int{200, 400, 800} {
		p := m.Expect(cell.GC{Percent: percent})
		if p.GCShare.Mid >= last.GCShare.Mid || p.PeakBytes.Mid <= last.PeakBytes.Mid {
			t.Errorf("GOGC=%d: no less GC, or no more memory than before: %+v", percent, p)
		}
		last = p
	}
	if p := m.Expect(cell.GC{Percent: 5}); len(p.Withheld) == 0 {
		t.Errorf("GOGC=5: believed, %+v", p)
	}
}

func TestModelSaysWhenItIsUnsure(t *testing.T) {
	m, err := NewModel([]Pilot{mustPilot(t, steady(3))})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.doubts) != 1 || !strings.Contains(m.doubts[0], "only 3 collections") {
		t.Errorf("doubts of a model of 3 cycles: %q", m.doubts)
	}
	if _, err := NewModel([]Pilot{{GC: cell.DisabledGC, Wall: 1, CPU: 1}}); !errors.Is(err, errNoCycles) {
		t.Errorf("a pilot without cycles: %v", err)
	}
}

func TestCliff(t *testing.T) {
	m, err := NewModel([]Pilot{mustPilot(t, steady(100))})
	if err != nil {
		t.Fatal(err)
	}
	// Live data and the memory beside the heap need about 28 MiB, plus some room.
	cliff := m.Cliff()
	if cliff < 26*mib || cliff > 45*mib {
		t.Errorf("cliff at %.1f MiB", float64(cliff)/mib)
	}
	above := m.Expect(cell.GC{Percent: -1, LimitBytes: cliff + cliff/20})
	below := m.Expect(cell.GC{Percent: -1, LimitBytes: cliff - cliff/20})
	if above.GCShare.Mid > 0.46 || above.crawls || below.GCShare.Mid < 0.44 && !below.crawls {
		t.Errorf("GC share %.2f just above the cliff, crawls %t; %.2f just below, %t", above.GCShare.Mid, above.crawls,
			below.GCShare.Mid, below.crawls)
	}
}

// TestFitFindsTheCoefficients fits exact data, which must outweigh the priors, and no
// data, which must leave them.
func TestFitFindsTheCoefficients(t *testing.T) {
	truth := vector{2, 2.2, 0.5e-9}
	priors := [terms]prior{{2, 10}, {1.5, 0.5}, {0.7e-9, 0.25e-9}, {}}
	var obs []observation
	for i, x := range []vector{{1, 1, 50e6}, {1, 0.5, 100e6}, {1, 0.1, 400e6}, {1, 0, 2e9}} {
		y := inner(truth[:], x[:])
		obs = append(obs, observation{sample{x, place{float64(10 * i)}, 0, 1e-4 * y}, y})
	}
	f := newFit(obs, priors)
	for i, want := range truth[:3] {
		if got := f.coefficient(i); !near(got.mean, want, 0.02) {
			t.Errorf("coefficient %d: %v, want %v", i, got, want)
		}
	}
	one := newFit(obs[:1], priors)
	mid, near1 := one.predict(obs[0].sample)
	if got := one.coefficient(1); !near(got.mean, 1.5, 0.05) || !near(mid, obs[0].y, 0.01) {
		t.Errorf("one observation: %v, %v", got, mid)
	}
	_, far := one.predict(obs[3].sample)
	if _, four := f.predict(obs[3].sample); far < 5*near1 || far < 5*four {
		t.Errorf("one observation leaves ±%v far away and ±%v there; four leave ±%v", far, near1, four)
	}
}

// TestFitLearnsItsScale has runs that scatter as expected, and runs that scatter ten times as much.
func TestFitLearnsItsScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, tc := range []struct{ factor, least, most float64 }{{1, 0.6, 1.8}, {10, 4, 15}} {
		var obs []observation
		for i := range 8 {
			obs = append(obs, observation{sample{vector{1}, place{float64(i)}, 0.04, 0.03},
				tc.factor * 0.05 * rng.NormFloat64()})
		}
		f := newFit(obs, [terms]prior{{0, 0.5}, {}, {}, {}})
		if scale := f.wide / 1.8; scale < tc.least || scale > tc.most {
			t.Errorf("runs that scatter %v times as much as expected widen intervals %.2f times", tc.factor, scale)
		}
	}
}

// TestWidensWhatRunsDifferBy: if live data varies between runs, so does memory.
func TestWidensWhatRunsDifferBy(t *testing.T) {
	wide := func(factors ...float64) float64 {
		var pilots []Pilot
		for _, factor := range factors {
			rec := steady(40)
			for i := range rec.Cycles {
				c := &rec.Cycles[i]
				c.LiveBytes, c.StartBytes, c.EndBytes = int64(factor*22*mib), int64(factor*42*mib), int64(factor*44*mib)
			}
			rec.Set(cell.RSSPeak, factor*52*mib)
			pilots = append(pilots, mustPilot(t, rec))
		}
		m, err := NewModel(pilots)
		if err != nil {
			t.Fatal(err)
		}
		r := m.expect(setting(200, 0))
		peak := m.memory(&r, setting(200, 0))
		return peak.wide()
	}
	if equal, different := wide(1, 1, 1), wide(0.7, 1, 1.4); equal > 0.25 || different < 2*equal {
		t.Errorf("memory ±%.2f where runs agree, ±%.2f where what is live differs", equal, different)
	}
}

// TestCoarsePilots has one run of three cycles beside one of 40 that saw twice as much live:
// predictions with many cycles follow the second.
func TestCoarsePilots(t *testing.T) {
	few := steady(3)
	for i := range few.Cycles {
		few.Cycles[i].LiveBytes /= 2
	}
	alone, err := NewModel([]Pilot{mustPilot(t, steady(40))})
	if err != nil {
		t.Fatal(err)
	}
	both, err := NewModel([]Pilot{mustPilot(t, steady(40)), mustPilot(t, few)})
	if err != nil {
		t.Fatal(err)
	}
	one, two := alone.expect(cell.DefaultGC), both.expect(cell.DefaultGC)
	if !near(two.peak, one.peak, 0.03) || one.cycles != two.cycles {
		t.Errorf("%+v with a run of three cycles, %+v without", two, one)
	}
}

// TestNothingLeft has runs with less CPU time than their collections cost according to gctrace:
// no model can tell how much the program's own work takes.
func TestNothingLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		cpu  float64
		want bool
	}{"work of ten times the collections": {4, false}, "less than the collections": {0.3, true}} {
		p := mustPilot(t, steady(40)) // 0.4 s of collections
		p.CPU = tc.cpu
		m, err := NewModel([]Pilot{p, p})
		if err != nil {
			t.Fatal(err)
		}
		doubts := strings.Join(m.doubts, "; ")
		if m.misfit != tc.want || strings.Contains(doubts, "by more than") != tc.want {
			t.Errorf("%s: misfit %t, doubts %q, want %t", name, m.misfit, doubts, tc.want)
		}
	}
}

// TestForcedAreNotFew: a longer run of a program that forces its collections tells no more.
func TestForcedAreNotFew(t *testing.T) {
	for forced, want := range map[int]string{0: "only 3 collections ran: a longer run", 50: "of 53 collections the program forced 50:"} {
		rec := obedient(100, 100, 3+forced)
		for i := range forced {
			rec.Cycles[3+i].Forced = true
		}
		for name, v := range map[string]float64{cell.WallTime: 1, cell.TotalCPU: 1, cell.RSSPeak: 50 * mib} {
			rec.Set(name, v)
		}
		m, err := NewModel([]Pilot{mustPilot(t, rec)})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.doubts) != 1 || !strings.Contains(m.doubts[0], want) {
			t.Errorf("%d forced: %q", forced, m.doubts)
		}
	}
}
