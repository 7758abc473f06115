package overcommit

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Waiters that spin for their turn hand over to threads that have no CPU.
func TestSpinningCollapses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var next, served atomic.Int64
	spinning := func(_ int, operations *atomic.Int64, over *atomic.Bool) {
		for ; !over.Load(); operations.Add(1) {
			for ticket := next.Add(1) - 1; served.Load() != ticket; {
			}
			served.Add(1)
		}
	}
	var mu sync.Mutex
	shared := 0 // guarded by mu
	parking := func(_ int, operations *atomic.Int64, over *atomic.Bool) {
		for ; !over.Load(); operations.Add(1) {
			mu.Lock()
			shared++
			mu.Unlock()
		}
	}
	spun := cost(spinning, parking)
	t.Logf("%.0f", spun)
	if spun < collapse {
		t.Errorf("taking turns by spinning costs %.1f times as much as a mutex with more Ps than CPUs, want %v or more",
			spun, collapse)
	}
	if same := cost(parking, parking); same > collapse {
		t.Errorf("a mutex costs %.1f times as much as itself", same)
	}
}
