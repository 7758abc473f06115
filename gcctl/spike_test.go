package gcctl

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestAdaptiveKeepsItsBudgetInASpike runs the controller through the spike of bench/gcctl on a busy machine: it looks
// late, and at the latest when the world starts again after a collection. The runtime counts more work than it
// expects. The program allocates 0.45 bytes for each byte marked as long as it need not mark, as the spike does.
func TestAdaptiveKeepsItsBudgetInASpike(t *testing.T) {
	const budget = 600 * mb
	for _, counts := range []float64{1, 4, 8} {
		for _, late := range []time.Duration{5, 20, 40} {
			for seed := range uint64(40) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake(50*mb, 1000*mb)
					f.noise = rand.New(rand.NewPCG(seed, 4))
					f.counts, f.perByte, f.overhead = counts, 0.9e-9, 40*mb
					f.late = func() time.Duration {
						return late*time.Millisecond/2 + time.Duration(f.noise.Int64N(int64(late*time.Millisecond)))
					}
					jump := 2*time.Second + time.Duration(seed)*13*time.Millisecond // at any point of a collection
					f.live = func(at time.Duration) float64 {
						if jump <= at && at < 5*time.Second {
							return 400 * mb
						}
						return 50 * mb
					}
					c := control(t, Config{Mode: Adaptive, LimitBytes: budget}, f)
					defer c.Close()
					time.Sleep(6 * time.Second)
					if _, _, _, peak := f.state(); peak > budget {
						t.Errorf("counts %v, looks %v ms late, seed %d: %.0f MB", counts, int(late), seed, peak/mb)
					}
				})
			}
		}
	}
}
