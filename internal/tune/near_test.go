package tune

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A wave is a program whose live heap rises and falls. The bytes beside its heap are about what
// the model expects; text counts to no limit.
type wave struct {
	simulated
	other, text float64
}

func newWave(rng *rand.Rand) *wave {
	s := &wave{simulated: newSimulated(rng, false)}
	live := s.life.points[0].live
	if live > 60*mib {
		live /= 4
	}
	total, share := live*(20+100*rng.Float64()), 0.02+0.33*rng.Float64()
	s.life.costPerByte = s.work * share / (1 - share) / total
	s.life.floating = 0.48 * total / s.work / (0.28 * 2)
	s.life.total, s.life.points = total, nil
	low := 0.4 + 0.6*rng.Float64()
	for i := range 60 {
		height := low + (1-low)*math.Abs(math.Sin(float64(i)*(0.2+0.3*low)))
		s.life.points = append(s.life.points, point{total * float64(i+1) / 60, live * height, 0})
	}
	s.other = max(4.9*mib+0.16*live+rng.NormFloat64()*mib, 3*mib)
	s.text = (1 + 3*rng.Float64()) * mib
	return s
}

// truth returns a run without noise; fine is false if collection takes half of it.
func (s *wave) truth(gc cell.GC) (cpu, peak float64, fine bool) {
	r := s.life.run(gc, s.other)
	peak = s.other + s.text + heapOverhead*r.peak
	cpu = s.work + s.perSecond*r.seconds + s.perByte*peak
	return cpu, peak, !r.starving && r.seconds < maxGCShare*cpu
}

// record is a run that waits for a CPU for about the given share of its time: heaps that no limit
// bounds outgrow their goals.
func (s *wave) record(c cell.Config, wait float64, rng *rand.Rand) *cell.Record {
	cpu, peak, _ := s.truth(c.GC)
	w := wait * (0.6 + 0.8*rng.Float64())
	cpu *= math.Exp(0.05 * rng.NormFloat64())
	peak *= math.Exp(0.015 * rng.NormFloat64())
	if c.GC.LimitBytes == 0 {
		peak *= math.Exp(math.Abs(0.1 * w * rng.NormFloat64()))
	}
	rec := &cell.Record{Cell: cell.Cell{Config: c}}
	for metric, v := range map[string]float64{cell.TotalCPU: cpu, cell.WallTime: cpu / 2 / (1 - w),
		cell.CPUWait: w / (1 - w) * cpu, cell.RSSPeak: peak} {
		rec.Set(metric, v)
	}
	dearer, life := math.Exp(0.15*w*rng.NormFloat64()+0.03*rng.NormFloat64()), s.life
	life.floating *= 1 + w
	var allocated, marked float64
	for n := 0; n < 1<<17; n++ {
		goal := percentGoal(c.GC.Percent, marked, 0)
		room := goal - marked
		if most := limitGoal(float64(c.GC.LimitBytes) - s.other); c.GC.LimitBytes > 0 && most < goal {
			goal, room = max(most, marked), max(most-marked, 0.005*marked, leastRoom)
		}
		live, _ := life.at(allocated + room)
		cost := life.cost(live) * dearer
		black := min(life.floating*cost, runwayShare*room)
		begin := min(room-black, max(latestShare*room, room-minimumHeap))
		if allocated+begin >= life.total {
			break
		}
		live, _ = life.at(allocated + begin)
		whole := func(bytes float64) int64 { return int64(bytes) / mib * mib } // as gctrace rounds
		rec.Cycles = append(rec.Cycles, cell.Cycle{MarkNs: 1e6, CPUNs: int64(1e9 * cost), StartBytes: whole(marked + begin),
			EndBytes: whole(marked + begin + black), LiveBytes: whole(live + black), GoalBytes: whole(goal), Procs: 2})
		allocated, marked = allocated+begin+black, live+black
	}
	for i := range rec.Cycles {
		rec.Cycles[i].AtNs = int64(float64(i+1) * rec.Metrics[cell.WallTime] / float64(len(rec.Cycles)+1) * 1e9)
	}
	return rec
}

// TestNearFloor: with 1.03 to 1.11 times the least memory in which a program runs well, tuning
// finds a setting that keeps the bound, and mostly a better one than any GOGC. docs/adr/0041.
func TestNearFloor(t *testing.T) {
	trials := 20
	if invariant.Race {
		trials = 4
	}
	var settings []cell.GC
	for _, percent := range curvePercents {
		settings = append(settings, setting(percent, 0))
	}
	for limit := int64(5 * mib); limit < 150*mib; limit += mib {
		settings = append(settings, setting(roomy, limit))
	}
	kept, alone, over := 0, 0, moments{}
	for trial := range 2 * trials {
		rng := rand.New(rand.NewPCG(uint64(trial/2), 13))
		p, wait := newWave(rng), 0.5*float64(trial%2)
		floor, best := math.Inf(1), math.Inf(1)
		for _, gc := range settings {
			if _, peak, fine := p.truth(gc); fine {
				floor = min(floor, peak)
			}
		}
		bound := math.Ceil((1.03+0.08*rng.Float64())*floor/mib) * mib
		for _, gc := range settings {
			if cpu, peak, fine := p.truth(gc); peak <= bound && fine {
				best = min(best, cpu)
			}
		}
		c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
			MaxPeakBytes: bound, Seed: uint64(trial / 2), Budget: 1e15}
		a, err := Tune(c, func(c cell.Config, _ int) (*cell.Record, error) { return p.record(c, wait, rng), nil })
		if err != nil {
			t.Fatal(err)
		}
		if a.Outcome != Recommended {
			continue
		}
		cpu, peak, _ := p.truth(a.Setting.GC)
		if peak > sameMemory*bound {
			t.Errorf("program %d: %s occupies %.3f times what is allowed", trial/2, a.Setting.GC, peak/bound)
		}
		kept++
		alone += int(oneIf(a.Setting.GC.LimitBytes == 0))
		over.add(cpu / best)
	}
	t.Logf("%d of %d programs get a setting, %d of them GOGC alone, at %.3f times the best CPU time", kept, 2*trials, alone,
		over.mean())
	if kept < 2*trials*17/20 || alone > trials/5 || over.mean() > 1.25 {
		t.Errorf("%d of %d programs get a setting, %d of them GOGC alone, at %.3f times the best CPU time", kept, 2*trials,
			alone, over.mean())
	}
}
