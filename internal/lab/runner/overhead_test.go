package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/rusage"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// TestOverhead alternates slices of a closed loop as the harness runs it, with
// its sampler beside it, and as a benchmark would, and compares the CPU time
// per operation within each pair. The bound leaves room for a noisy machine;
// the figure is logged. bench/overhead compares whole processes.
func TestOverhead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const pairs, slice = 60, 20 * time.Millisecond
	for _, name := range []string{"plain", "syncpool", "arena"} {
		c := testCell("strategies")
		c.Params = map[string]string{"strategy": name}
		built, err := newTask(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		task := built.(workload.Closed)
		n := int64(1)
		for took := time.Duration(0); took < slice; {
			n *= 2
			took = time.Hour
			for range 3 { // take a machine that stands still for a slow loop only if it does so three times
				began := time.Now()
				task.Loop(0, n)
				took = min(took, time.Since(began))
			}
		}
		var cpu, wall []float64
		for pair := range pairs {
			var h, p float64 // ns of CPU per operation
			var hw, pw time.Duration
			for turn := range 2 {
				if (turn+pair)%2 == 0 {
					var rec cell.Record
					l := loop{task: task, bounded: true, ops: n}
					s := startSampler(time.Now(), sampleInterval)
					before := rusage.Self()
					hw = l.run(batches)
					used := rusage.Self().Since(before)
					s.stop(&rec)
					h = used.CPU() * 1e9 / float64(l.done)
					continue
				}
				before, began := rusage.Self(), time.Now()
				task.Loop(0, n)
				pw = time.Since(began)
				used := rusage.Self().Since(before)
				p = used.CPU() * 1e9 / float64(n)
			}
			cpu = append(cpu, h/p)
			wall = append(wall, float64(hw)/float64(pw))
		}
		slices.Sort(cpu)
		slices.Sort(wall)
		q := len(cpu) / 4
		t.Logf("%s: harness/plain CPU time %.3f [%.3f, %.3f], wall %.3f [%.3f, %.3f] (quartiles of %d pairs)",
			name, cpu[2*q], cpu[q], cpu[3*q], wall[2*q], wall[q], wall[3*q], pairs)
		if cpu[2*q] > 1.25 {
			t.Errorf("%s: the harness costs %.2f of a plain loop", name, cpu[2*q])
		}
	}
}
