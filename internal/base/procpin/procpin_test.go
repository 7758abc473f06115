package procpin

import (
	"runtime"
	"testing"
)

func TestPinReturnsAnIDBelowGOMAXPROCS(t *testing.T) {
	for range 1000 {
		id := Pin()
		Unpin()
		if id < 0 || id >= runtime.GOMAXPROCS(0) {
			t.Fatalf("Pin() = %d, want [0, %d)", id, runtime.GOMAXPROCS(0))
		}
	}
}

func BenchmarkPinUnpin(b *testing.B) {
	sum := 0
	for b.Loop() {
		for range 16 {
			sum += Pin()
			Unpin()
		}
	}
	runtime.KeepAlive(sum)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/pin")
}
