package gcctl

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

const mb = 1 << 20

func noLimit(int64) int64 { return 0 }

func control(t *testing.T, cfg Config, f *fake) *Controller {
	t.Helper()
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	c, err := start(cfg, f, func(found int64) int64 { return leastLimit(found, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLawReachesTheTargetShare(t *testing.T) {
	for _, k := range []float64{1, 10, 39, 100} { // GOGC at which the collector takes half the time
		l := law{target: 0.05}
		st := l.start(100)
		for i := range 200 {
			s := lawSample{at: time.Duration(i) * 100 * time.Millisecond, cycles: 1, live: 50 * mb,
				gc: k / policy.trueCost, mutator: st.percent + k - k/policy.trueCost}
			st = l.next(st, s)
		}
		want := min(max(k*19, policy.minPercent), policy.maxPercent)
		if r := st.percent / want; r < 1/policy.band || r > policy.band {
			t.Errorf("k=%v: GOGC %v, want about %v", k, st.percent, want)
		}
	}
}

func TestLawBoundsItsSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := law{target: 0.05, budget: 600 * mb}
	st := l.start(100)
	at := time.Duration(0)
	for range 100_000 {
		at += time.Duration(rng.Int64N(int64(500 * time.Millisecond)))
		s := lawSample{
			at: at, cycles: 1 + rng.IntN(5), gc: rng.ExpFloat64() * 0.01, mutator: rng.ExpFloat64(),
			live: rng.Int64N(700 * mb), roots: rng.Int64N(mb), overhead: rng.Int64N(50 * mb),
		}
		was := st
		st = l.next(st, s)
		switch {
		case st.percent < policy.minPercent || st.percent > policy.maxPercent || st.percent != math.Round(st.percent):
			t.Fatalf("GOGC %v", st.percent)
		case st.percent > was.percent*policy.stepBack+1 || !st.freed && !was.freed && st.percent > was.percent*policy.step+1:
			t.Fatalf("GOGC %v after %v", st.percent, was.percent)
		case st.percent < was.percent:
			continue
		case st.percent > was.percent && !was.rapid && !was.squeezed && at-was.changed < policy.raisePause:
			t.Fatalf("raised twice within %v", at-was.changed)
		}
		allowed, least := l.cap(policy.reserve, float64(s.live), s), policy.minPercent*policy.band
		if allowed < st.percent && st.percent > least && l.room(st.live, s) < st.percent/policy.band {
			t.Fatalf("GOGC %v where memory allows %v", st.percent, allowed)
		}
	}
}

func TestFitNeedsConsecutiveCycles(t *testing.T) {
	l := law{budget: 600 * mb}
	tight, roomy := lawSample{cycles: 1, live: 550 * mb}, lawSample{cycles: 1, live: 100 * mb}
	var f fit
	for i, s := range []lawSample{tight, tight, roomy, tight, tight} {
		if f = f.next(l, s); f.alarm {
			t.Fatalf("alarm at sample %d", i)
		}
	}
	if f = f.next(l, tight); !f.alarm {
		t.Fatalf("after three tight cycles: %+v", f)
	}
	beyond := lawSample{cycles: 1, live: 590 * mb}
	if f := (fit{}).next(l, beyond); f.alarm {
		t.Fatal("alarm after one cycle, where new objects count as live")
	} else if f = f.next(l, beyond); !f.alarm {
		t.Fatal("no alarm after two cycles that do not fit at all")
	}
	for i, s := range []lawSample{roomy, roomy, tight, roomy, roomy} {
		if f = f.next(l, s); !f.alarm {
			t.Fatalf("alarm over at sample %d", i)
		}
	}
	if f = f.next(l, roomy); f.alarm {
		t.Fatal("alarm continues after three roomy cycles")
	}
}

// TestExcess: without it, Adaptive sets GOGC=100, and under another mode a heap
// under GOGC=100 fits.
func TestExcess(t *testing.T) {
	l := law{target: policy.targetCPU, budget: 600 * mb}
	s := lawSample{cycles: 1, live: 550 * mb, overhead: 30 * mb}
	s.live -= l.excess(s, true)
	if room := l.room(float64(s.live), s); math.Abs(room-100) > 0.01 {
		t.Errorf("room for GOGC %v after shedding", room)
	}
	if more := l.excess(s, true); more > 1 {
		t.Errorf("%d bytes more after shedding", more)
	}
	s.live = 550 * mb
	s.live -= l.excess(s, false)
	if room := l.cap(policy.reserve, float64(s.live), s); math.Abs(room-100) > 0.01 {
		t.Errorf("room for GOGC %v after shedding in another mode", room)
	}
}

// TestAdaptiveStaysWithinBudgetAndSettles runs the whole controller against the simulated collector: a live heap
// steps up and down under a budget, with noise.
func TestAdaptiveStaysWithinBudgetAndSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 400*mb)
		f.noise = rand.New(rand.NewPCG(3, 4))
		f.live = func(at time.Duration) float64 {
			switch {
			case at < 2*time.Minute:
				return 50 * mb
			case at < 2*time.Minute+10*time.Second: // filling takes time
				return (50 + 350*(at-2*time.Minute).Seconds()/10) * mb
			case at < 5*time.Minute:
				return 400 * mb
			}
			return 50 * mb
		}
		c := control(t, Config{Mode: Adaptive, LimitBytes: 600 * mb}, f)
		defer c.Close()
		check := func(phase string, least, most int) {
			t.Helper()
			time.Sleep(time.Minute)
			before := c.Stats()
			time.Sleep(time.Minute - time.Second)
			after := c.Stats()
			if n := after.PercentChanges - before.PercentChanges; n > 1 {
				t.Errorf("%s: GOGC changed %d times in a settled minute", phase, n)
			}
			if after.Percent < least || after.Percent > most {
				t.Errorf("%s: GOGC %d, want %d to %d (share %.3f)", phase, after.Percent, least, most, after.GCCPU)
			}
			t.Logf("%s: GOGC %d, share %.3f, %d changes", phase, after.Percent, after.GCCPU, after.PercentChanges)
			time.Sleep(time.Second)
		}
		check("50 MB", 200, 900)
		time.Sleep(time.Minute)
		check("400 MB", int(policy.minPercent), 40)
		check("50 MB again", 200, 900)
		if _, _, _, peak := f.state(); peak > 600*mb {
			t.Errorf("peak %.0f MB over a budget of 600", peak/mb)
		}
	})
}

func TestAdaptiveFollowsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 0)
		f.rate = func(at time.Duration) float64 {
			if at < time.Minute {
				return 100 * mb
			}
			return 1600 * mb
		}
		c := control(t, Config{Mode: Adaptive, LimitBytes: 4000 * mb}, f)
		defer c.Close()
		time.Sleep(time.Minute - time.Second)
		slow := c.Stats()
		time.Sleep(time.Minute)
		fast := c.Stats()
		if fast.Percent <= slow.Percent {
			t.Errorf("GOGC %d at 100 MB/s and %d at 1600 MB/s", slow.Percent, fast.Percent)
		}
		for _, s := range []Stats{slow, fast} {
			if float64(s.Percent) < policy.maxPercent/policy.band && s.GCCPU > 1.4*policy.targetCPU {
				t.Errorf("share %.3f at GOGC %d", s.GCCPU, s.Percent)
			}
		}
	})
}

// TestLawSetsAsideForGrowth: a heap that turns out to be all live, with what is allocated while it is marked, leaves
// room for the tenth that the runtime may add to it in each of the collections in a row.
func TestLawSetsAsideForGrowth(t *testing.T) {
	l := law{target: 0.05, budget: 600 * mb}
	s := lawSample{overhead: 20 * mb}
	for _, live := range []float64{50 * mb, 200 * mb, 400 * mb} {
		end := live * (1 + l.room(live, s)/100)
		grown := end + policy.surge*(end-live)
		if peak := policy.overrun*policy.overrun*policy.overrun*grown + 20*mb; math.Abs(peak-policy.reserve*600*mb) > mb {
			t.Errorf("%v MB live: %v MB in the worst case, want %v", live/mb, peak/mb, policy.reserve*600)
		}
	}
}

// TestLawKeepsTheReserveForGrowth: a live heap that starts to grow leaves less room at once, before the law knows
// that the heap is filling, and before room runs out.
func TestLawKeepsTheReserveForGrowth(t *testing.T) {
	l := law{target: 0.01, budget: 600 * mb}
	at := time.Duration(0)
	next := func(st lawState, live int64) lawState {
		at += 250 * time.Millisecond
		return l.next(st, lawSample{at: at, cycles: 1, gc: 0.3, mutator: 0.7, live: live, overhead: 15 * mb})
	}
	st := l.start(100)
	for range 60 {
		st = next(st, 73*mb)
	}
	if was := st.percent; was < 300 {
		t.Fatalf("GOGC %v at 73 MB", was)
	}
	st = next(st, 85*mb)
	if most := l.room(85*mb, lawSample{overhead: 15 * mb}) * policy.band; st.percent > most {
		t.Errorf("GOGC %v at 85 MB, want at most %v", st.percent, most)
	}
}

// TestLawExpectsGrowthAndForgetsPeaks: a live heap that is filling is expected to go on; one that was large for a
// single collection is forgotten.
func TestLawExpectsGrowthAndForgetsPeaks(t *testing.T) {
	l := law{target: 0.05, budget: 600 * mb}
	at := time.Duration(0)
	feed := func(st lawState, live int64, n int) lawState {
		for range n {
			at += 300 * time.Millisecond
			st = l.next(st, lawSample{at: at, cycles: 1, gc: 0.3, mutator: 0.7, live: live, overhead: 20 * mb})
		}
		return st
	}
	small := feed(l.start(100), 80*mb, 20)
	want := l.room(80*mb, lawSample{overhead: 20 * mb})
	if small.percent < want/policy.wideBand || small.percent > math.Round(want) {
		t.Fatalf("GOGC %v at 80 MB, want about %v", small.percent, want)
	}
	filling := feed(small, 200*mb, 1) // 320 MB may be next
	if most := l.cap(policy.reserve, 320*mb, lawSample{overhead: 20 * mb}) * 320 / 200; filling.percent > most {
		t.Errorf("GOGC %v while the heap fills, want at most %v", filling.percent, most)
	}
	peak := feed(filling, 450*mb, 1)
	if peak.percent != policy.minPercent {
		t.Errorf("GOGC %v at 450 MB", peak.percent)
	}
	after := feed(peak, 260*mb, 60)
	want = l.room(260*mb, lawSample{overhead: 20 * mb})
	if after.percent < want/policy.wideBand || after.percent > want {
		t.Errorf("GOGC %v at 260 MB long after 450, want about %v", after.percent, want)
	}
}
