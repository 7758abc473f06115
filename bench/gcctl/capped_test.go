package gcctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// beyond is how far above the budget the kernel refuses memory: three of the
// 64 MiB steps in which the runtime maps the heap.
const beyond = 200_000_000

// A spike is a size of the workload. Its budget is one and a half times its
// high live heap.
type spike struct {
	runs             int // of each mode
	low, high, limit int // bytes
	phase            string
}

// TestCapped runs the spike in every mode under a hard cap of the kernel, which
// no run may meet. The control has neither a budget nor a collector, and must.
// ISOBAR_SOAK=1 makes it a hundred runs at the full size, or as many as
// ISOBAR_CAPPED_RUNS says.
func TestCapped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no limit on private memory here")
	}
	if testing.Short() {
		t.Skip("takes seconds for each mode")
	}
	size := spike{runs: 1, low: budget / 40, high: budget / 5, limit: budget / 3, phase: "300ms"}
	if os.Getenv("ISOBAR_SOAK") != "" {
		runs, err := strconv.Atoi(cmp.Or(os.Getenv("ISOBAR_CAPPED_RUNS"), "100"))
		if err != nil || runs < 1 {
			t.Fatalf("ISOBAR_CAPPED_RUNS=%q: want a number of runs, 1 or more", os.Getenv("ISOBAR_CAPPED_RUNS"))
		}
		size = spike{runs: runs, low: budget / 12, high: budget / 3 * 2, limit: budget, phase: "1s"}
	}
	t.Setenv(capEnv, fmt.Sprint(size.limit+beyond))
	modes := []string{"default", "off", "hybrid", "idle", "adaptive", "percent=300"}
	died := map[string]int{}
	for i := range size.runs {
		for _, mode := range modes { // interleaved, so that what disturbs hits all alike
			if rec := size.run(t, uint64(i+1), mode, size.phase, cell.DefaultGC); rec.Err != nil {
				died[mode]++
				t.Errorf("run %d, mode %s: %s: %s", i+1, mode, rec.Err.Kind, rec.Err.Message)
			}
		}
		if control := size.run(t, uint64(i+1), "none", "10s", cell.DisabledGC); control.Err == nil || control.Err.Kind != cell.FailMemory {
			t.Fatalf("run %d, control: not refused memory: %+v", i+1, control.Err)
		}
		if (i+1)%10 == 0 {
			t.Logf("%d runs of each mode; ended by the cap: %v", i+1, died)
		}
	}
}

func (s spike) run(t *testing.T, seed uint64, mode, phase string, gc cell.GC) cell.Record {
	t.Helper()
	c := cell.Cell{
		Config: cell.Config{
			Workload: "spike", GC: gc, GOMAXPROCS: runtime.GOMAXPROCS(0),
			Params: map[string]string{
				"controller": mode, "limit": fmt.Sprint(s.limit), "phase": phase,
				"low": fmt.Sprint(s.low), "high": fmt.Sprint(s.high),
			},
		},
		Seed: seed,
	}
	rec, _, err := runner.New(runner.Config{Log: io.Discard}).Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
