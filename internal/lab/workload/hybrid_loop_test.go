package workload

import (
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestHybridOnLoop: the loop does the same as the goroutine, and reports idle
// time itself.
func TestHybridOnLoop(t *testing.T) {
	g := given{"tickrate": "10_000", "busy": "10ms", "idle": "90ms", "duration": "250ms", "live": "1MiB", "controller": "none"}
	want, _, _ := driveOpen(build(t, "hybrid", g, 1).(Open))
	for _, controller := range []string{"none", "idle", "hybrid"} {
		t.Run(controller, func(t *testing.T) {
			g["on"], g["controller"] = "loop", controller
			h := build(t, "hybrid", g, 1).(*hybrid)
			sum, dues, err := driveOpen(h)
			if err != nil || len(dues) != 300 || sum != want {
				t.Errorf("%s: %d ticks, checksum %#x, %v; want 300, %#x", controller, len(dues), sum, err, want)
			}
			if sleeps := h.loop.loop.Stats().Sleeps; sleeps == 0 {
				t.Errorf("%s: the loop never slept", controller)
			}
			var rec cell.Record
			h.Report(&rec)
			if _, ok := rec.Metrics["/hybrid/idle:collections"]; !ok {
				t.Errorf("%s: no count of idle collections", controller)
			}
		})
	}
}

// TestHybridLoopTellsTheGap: the loop is idle until the next tick.
func TestHybridLoopTellsTheGap(t *testing.T) {
	g := given{"tickrate": "1_000", "busy": "3ms", "idle": "1h", "duration": "2h", "live": "1MiB", "controller": "idle", "on": "loop", "sections": "off"}
	h := build(t, "hybrid", g, 1).(*hybrid)
	for i := range 3 {
		if _, ok, err := h.Next(); !ok || err != nil {
			t.Fatal("no tick", err)
		}
		h.Do()
		if want := h.due(int64(i + 1)); h.loop.due != want {
			t.Errorf("after tick %d the next is due at %v, want %v", i, h.loop.due, want)
		}
	}
	if gap := h.loop.due; gap.Hours() < 1 {
		t.Errorf("after a burst the next tick is due at %v, want more than 1h", gap)
	}
}
