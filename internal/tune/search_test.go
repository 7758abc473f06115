package tune

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// grid is the settings of the simulation, GOGC 25 to 3200 and off.
func grid() []cell.GC {
	var out []cell.GC
	for _, percent := range []int{25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, -1} {
		out = append(out, cell.GC{Percent: percent})
	}
	return out
}

// A simulated program has a steady live heap, and costs that no pilot shows
// directly.
type simulated struct {
	life      trajectory
	work      float64 // CPU seconds
	perSecond float64 // what a second of accounted GC time costs
	perByte   float64 // what a byte of peak memory costs
	procs     float64
}

// newSimulated draws a program. A foreign one has costs outside what the
// model's priors hold likely.
func newSimulated(rng *rand.Rand, foreign bool) simulated {
	live := math.Exp(rng.Float64()*math.Log(25)) * 8 * mib // 8 to 200 MiB
	s := simulated{work: 2 + 4*rng.Float64(), procs: 2}
	s.perSecond, s.perByte = 1+1.5*rng.Float64(), (0.4+0.6*rng.Float64())*1e-9
	if foreign {
		s.perSecond, s.perByte = 0.5+3*rng.Float64(), 1.5*rng.Float64()*1e-9
	}
	total := live * (20 + 100*rng.Float64())
	share := 0.02 + 0.33*rng.Float64() // of the CPU time, at the default
	s.life = trajectory{points: []point{{1, live, 0}, {total, live, 0}}, total: total, procs: 2,
		costPerByte: s.work * share / (1 - share) / total, spread: 0.15}
	s.life.floating = 0.48 * total / s.work / (0.28 * 2)
	return s
}

// exact is a run without noise.
func (s *simulated) exact(gc cell.GC) (wall, peak float64, r replay) {
	r = s.life.run(gc, 6*mib, nil)
	peak = 6*mib + 1.05*r.peak
	return (s.work + s.perSecond*r.seconds + s.perByte*peak) / s.procs, peak, r
}

// run adds the noise of a machine whose speed differs from run to run.
func (s *simulated) run(gc cell.GC, noise float64, rng *rand.Rand) Pilot {
	wall, peak, r := s.exact(gc)
	speed := math.Exp(noise * rng.NormFloat64())
	p := Pilot{GC: gc, Procs: 2, Wall: wall * speed, CPU: wall * s.procs * speed, GCSeconds: r.seconds * speed * math.Exp(0.03*rng.NormFloat64()),
		PeakBytes: peak * math.Exp(0.02*rng.NormFloat64()), PeakHeapBytes: r.peak, Cycles: r.cycles}
	if r.cycles > 0 {
		life := s.life
		life.costPerByte *= p.GCSeconds / r.seconds
		p.streams = []trajectory{life}
		p.MeanGoalBytes = r.goal / max(r.weight, 1)
	}
	return p
}

// success says whether the choice is what the search promises: within the
// tolerance of the best, in at most half as much memory again as the smallest
// heap that is.
func (s *simulated) success(choice cell.GC, tolerance float64) bool {
	best, smallest := math.Inf(1), math.Inf(1)
	for _, gc := range grid() {
		wall, _, _ := s.exact(gc)
		best = min(best, wall)
	}
	for _, gc := range grid() {
		if wall, peak, _ := s.exact(gc); wall <= best*(1+tolerance) {
			smallest = min(smallest, peak)
		}
	}
	wall, peak, _ := s.exact(choice)
	return wall <= best*(1+tolerance) && peak <= 1.5*smallest
}

// simulate returns how often a search of at most the given runs succeeds.
func simulate(t *testing.T, noise float64, foreign bool, trials, runs int) float64 {
	t.Helper()
	found, spent, asDefault := 0, 0, 0
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 7))
		program := newSimulated(rng, foreign)
		search := Search{Objective: Wall, Settings: grid(), Tolerance: 0.02, Runs: runs, Noise: noise, Seed: uint64(trial)}
		choice, err := search.Find(func(gc cell.GC, _ int) (Pilot, error) { return program.run(gc, noise, rng), nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(choice.Pilots) > runs {
			t.Fatalf("trial %d: %d runs, more than the %d allowed", trial, len(choice.Pilots), runs)
		}
		spent += len(choice.Pilots)
		if program.success(choice.Best.GC, 0.02) {
			found++
		}
		if program.success(cell.DefaultGC, 0.02) {
			asDefault++
		}
	}
	share := func(n int) float64 { return float64(n) / float64(trials) }
	t.Logf("noise %.0f %%, foreign costs %t: found with probability %.3f in %d trials of %.1f runs (the default would be right in %.3f)",
		100*noise, foreign, share(found), trials, share(spent), share(asDefault))
	return share(found)
}

func TestSimulatedSearch(t *testing.T) {
	trials, allowed := 60, 0.0
	if invariant.Race { // nothing runs in parallel here: fewer will do
		trials, allowed = 20, 0.1
	}
	if os.Getenv("ISOBAR_SOAK") != "" {
		trials = 3000
	}
	for _, tc := range []struct {
		noise   float64
		foreign bool
		want    float64
	}{
		{0.05, false, 0.90},
		{0.10, false, 0.82},
		{0.05, true, 0.8},
		{0.10, true, 0.7},
	} {
		if got := simulate(t, tc.noise, tc.foreign, trials, 10); got < tc.want-allowed {
			t.Errorf("noise %v, foreign costs %t: found with probability %.3f, want %.2f", tc.noise, tc.foreign, got, tc.want)
		}
	}
}

func TestSearchKeepsToTheMemoryAllowed(t *testing.T) {
	for trial := range 50 {
		rng := rand.New(rand.NewPCG(uint64(trial), 8))
		program := newSimulated(rng, false)
		_, least, _ := program.exact(cell.GC{Percent: 100})
		search := Search{Objective: Wall, Settings: grid(), Tolerance: 0.02, MaxPeakBytes: 1.6 * least, Runs: 8, Noise: 0.03}
		choice, err := search.Find(func(gc cell.GC, _ int) (Pilot, error) {
			_, peak, _ := program.exact(gc)
			if peak > 1.7*least {
				t.Errorf("trial %d: ran %s, which occupies %.1f times the default", trial, gc, peak/least)
			}
			return program.run(gc, 0.03, rng), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, peak, _ := program.exact(choice.Best.GC); peak > 1.65*least {
			t.Errorf("trial %d: chose %s, which occupies %.2f times the default", trial, choice.Best.GC, peak/least)
		}
	}
}

func TestSearchEndsWithTheError(t *testing.T) {
	broken := errors.New("broken")
	search := Search{Objective: Wall, Settings: grid(), Tolerance: 0.02, Runs: 8}
	rng := rand.New(rand.NewPCG(1, 1))
	program := newSimulated(rng, false)
	n := 0
	choice, err := search.Find(func(gc cell.GC, _ int) (Pilot, error) {
		if n++; n == 3 {
			return Pilot{}, broken
		}
		return program.run(gc, 0.03, rng), nil
	})
	if !errors.Is(err, broken) || len(choice.Pilots) != 2 {
		t.Errorf("%v with %d pilots, want the error of the third run and the two before", err, len(choice.Pilots))
	}
}
