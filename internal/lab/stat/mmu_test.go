package stat

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestMMU compares with a model that tries every stretch.
func TestMMU(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		duration := 1 + rng.IntN(60)
		var pauses []cell.Pause
		stopped := make([]bool, duration)
		for range rng.IntN(8) {
			end, ns := rng.IntN(duration+10)-3, rng.IntN(9)
			pauses = append(pauses, cell.Pause{AtNs: int64(end), Ns: int64(ns)})
			for at := max(0, end-ns); at < min(end, duration); at++ {
				stopped[at] = true
			}
		}
		for w := 1; w <= duration; w++ {
			least := 1.0
			for from := 0; from+w <= duration; from++ {
				running := 0
				for _, s := range stopped[from : from+w] {
					if !s {
						running++
					}
				}
				least = min(least, float64(running)/float64(w))
			}
			got := MMU(pauses, time.Duration(duration), []time.Duration{time.Duration(w)})[0]
			if math.Abs(got-least) > 1e-12 {
				t.Fatalf("pauses %v in %d, window %d: %v, want %v", pauses, duration, w, got, least)
			}
		}
	}
	if got := MMU(nil, time.Second, []time.Duration{time.Millisecond, time.Hour}); got[0] != 1 || got[1] != 1 {
		t.Errorf("without pauses: %v", got)
	}
}
