package plot

import "testing"

func TestHeatStep(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.5: 2, 0.99: 9, 1: 9, 0.9: 8} {
		if got := heatStep(share); got != want {
			t.Errorf("%v: step %d, want %d", share, got, want)
		}
	}
}
