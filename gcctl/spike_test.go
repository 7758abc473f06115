package gcctl

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestAdaptiveKeepsItsBudgetInASpike runs the controller through the spike of bench/gcctl on a busy machine: it looks
// late, by up to one and a half times late, and at the latest when the world starts again after a collection. The runtime
// counts more work than it expects. The program allocates 0.45 bytes for each byte marked as long as it need not mark, as
// the spike does, or 0.63.
func TestAdaptiveKeepsItsBudgetInASpike(t *testing.T) {
	const budget = 600 * mb
	for _, rate := range []float64{1000, 1400} {
		for _, counts := range []float64{1, 4, 8} {
			for _, late := range []time.Duration{5, 20, 40, 60, 100, 150} {
				for seed := range uint64(40) {
					synctest.Test(t, func(t *testing.T) {
						if peak := spikePeak(t, spikeCase{rate * mb, counts, late * time.Millisecond, seed}, budget); peak > budget {
							t.Errorf("%v MB/s, counts %v, looks %v ms late, seed %d: %.0f MB", rate, counts, int(late), seed, peak/mb)
						}
					})
				}
			}
		}
	}
}

// A spikeCase is one way that a spike can go.
type spikeCase struct {
	rate   float64       // bytes allocated a second, on two CPUs
	counts float64       // scan work for each byte marked
	late   time.Duration // looks, on average
	seed   uint64        // of noise, and of the moment of the jump
}

// spikePeak returns the peak of memory in one spike.
func spikePeak(t *testing.T, s spikeCase, budget int64) float64 {
	f := newFake(50*mb, s.rate)
	f.noise = rand.New(rand.NewPCG(s.seed, 4))
	f.counts, f.perByte, f.overhead = s.counts, 0.9e-9, 40*mb
	f.late = func() time.Duration { return s.late/2 + time.Duration(f.noise.Int64N(int64(s.late))) }
	jump := 2*time.Second + time.Duration(s.seed)*13*time.Millisecond // at any point of a collection
	f.live = func(at time.Duration) float64 {
		if jump <= at && at < 5*time.Second {
			return 400 * mb
		}
		return 50 * mb
	}
	c := control(t, Config{Mode: Adaptive, LimitBytes: budget}, f)
	defer c.Close()
	time.Sleep(6 * time.Second)
	_, _, _, peak := f.state()
	return peak
}
