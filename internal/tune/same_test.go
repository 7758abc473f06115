package tune

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// tuneUnder tunes a simulated program on a machine with so much noise, where it waits for
// a CPU that many times as long as it runs.
func tuneUnder(t *testing.T, p simulated, seed uint64, noise, wait float64) cell.GC {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU, Seed: 1, Budget: 1e15}
	r, err := Tune(c, func(c cell.Config, _ int) (*cell.Record, error) {
		rec := p.record(c, noise, rng)
		waited := wait * math.Exp(0.2*rng.NormFloat64())
		rec.Set(cell.CPUWait, waited*rec.Metrics[cell.TotalCPU])
		rec.Set(cell.TotalCPU, (1+0.05*waited)*rec.Metrics[cell.TotalCPU])
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Setting.GC
}

// TestSameAnswer: on a quiet and on a loaded machine the same program gets the same
// setting. Of 60 programs 11 did when limits had steps of an eighth of a doubling that
// began at the cliff, docs/adr/0018.
func TestSameAnswer(t *testing.T) {
	programs := 20
	if invariant.Race {
		programs = 6
	}
	same := 0
	for trial := range programs {
		p := newSimulated(rand.New(rand.NewPCG(uint64(trial), 7)), false)
		quiet := tuneUnder(t, p, uint64(10*trial+1), 0.05, 0.05)
		loaded := tuneUnder(t, p, uint64(10*trial+3), 0.09, 1.3)
		if quiet == loaded {
			same++
		} else {
			t.Logf("program %d: %s quiet, %s loaded", trial, quiet, loaded)
		}
	}
	if same < programs*3/4 {
		t.Errorf("the same setting in %d of %d programs", same, programs)
	}
}

// TestSameAnswerOfRecords tunes by recorded runs of the machine on its own and beside two
// busy loops, and wants the same setting whichever runs are drawn: always in three of the
// four programs, and never another step than the next in the fourth, whose peak memory at
// today's setting differs by a third from run to run.
func TestSameAnswerOfRecords(t *testing.T) {
	const seeds = 4
	agree := 0
	for _, p := range corpus {
		if !p.Fits {
			continue
		}
		answers := map[string]int{}
		for _, name := range []string{p.Name, p.Name + "-loaded"} {
			for seed := range uint64(seeds) {
				answers[settingText(tuneScan(t, tunable(readScan(t, name)), seed).Tuned.Setting)]++
			}
		}
		t.Logf("%s: %v", p.Name, answers)
		if len(answers) == 1 {
			agree++
		}
		if len(answers) > 2 {
			t.Errorf("%s has %d answers in %d studies: %v", p.Name, len(answers), 2*seeds, answers)
		}
	}
	if agree < 3 {
		t.Errorf("the same answer quiet and loaded in %d of 4 programs", agree)
	}
}
