package exhibit

import (
	"context"
	"go/version"
	"runtime"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// figuresOf runs a workload of type Whole and returns its figures.
func figuresOf(t *testing.T, name string, g given) map[string]float64 {
	t.Helper()
	var rec cell.Record
	if err := build(t, name, g, 1).(workload.Whole).Run(context.Background(), &rec); err != nil {
		t.Fatalf("%s %v: %v", name, g, err)
	}
	return rec.Metrics
}

// TestTrialsCount holds the counts of two documents' trials that do not depend
// on chance.
func TestTrialsCount(t *testing.T) {
	for _, c := range []struct {
		name   string
		g      given
		figure string
		want   float64
		exact  bool // only in builds whose sync.Pool keeps what it gets
	}{
		{"shockwave-trials", given{"trial": "warmup", "count": "100"}, "/trial/made:objects", 1, true},
		{"shockwave-trials", given{"trial": "warmup", "count": "100"}, "/trial/made-later:objects", 99, true},
		{"shockwave-trials", given{"trial": "warmup-together", "count": "100"}, "/trial/made:objects", 100, false},
		{"shockwave-trials", given{"trial": "warmup-together", "count": "100"}, "/trial/made-later:objects", 0, true},
		{"shockwave-trials", given{"trial": "pipelined", "count": "16"}, "/trial/answered:requests", 1, false},
		{"shockwave-trials", given{"trial": "pipelined", "count": "1000"}, "/trial/answered:requests", 1, false},
		{"shockwave-trials", given{"trial": "pipelined-connection", "count": "1000"}, "/trial/answered:requests", 1000, false},
		{"loop-trials", given{"trial": "wrap", "count": "65536"}, "/trial/lost:tasks", 0, false},
		{"loop-trials", given{"trial": "wrap", "count": "65636"}, "/trial/lost:tasks", 100, false},
		{"loop-trials", given{"trial": "recycle", "count": "5000"}, "/trial/wrong:tasks", 0, false},
		{"loop-trials", given{"trial": "recycle", "count": "5000"}, "/trial/run:tasks", 20000, false},
		{"loop-trials", given{"trial": "ring", "count": "5000", "producers": "1"}, "/trial/count:items", 5000, false},
		{"trial", given{"kind": "size-classes", "trials": "1"}, "/trial/classes:classes", 67, false},
		{"loop-trials", given{"trial": "eviction", "count": "1000"}, "/trial/node/left2:objects", 0, false},
	} {
		if c.exact && invariant.Race {
			continue
		}
		figures := figuresOf(t, c.name, c.g)
		if got, ok := figures[c.figure]; got != c.want || !ok {
			t.Errorf("%s %v: %s is %v, want %v", c.name, c.g, c.figure, got, c.want)
		}
	}
	if f := figuresOf(t, "loop-trials", given{"trial": "shutdown", "count": "20"}); f["/trial/lost:rounds"] > 20 || f["/trial/lost:tasks"] < f["/trial/lost:rounds"] {
		t.Errorf("shutdown: %v", f)
	}
	for _, trial := range []string{"fairness", "register"} {
		if trial == "register" && runtime.GOOS == "windows" {
			continue // it has no readiness of descriptors
		}
		f := figuresOf(t, "loop-trials", given{"trial": trial, "count": "1000"})
		if f["/trial/mutex/least:ratio"] > 1 || f["/trial/lockfree/least:ratio"] > 1 || len(f) < 2 {
			t.Errorf("%s: %v", trial, f)
		}
	}
	// The runtime allocates records in blocks of 256 KiB, with one partly used block per P:
	// two more or fewer are 5 % of 200,000 records.
	if f := figuresOf(t, "trial", given{"kind": "finalizer-record", "trials": "200000"}); f["/trial/record:bytes"] < 40 || f["/trial/record:bytes"] > 100 {
		t.Errorf("finalizer-record: %v", f)
	}
	if f := figuresOf(t, "trial", given{"kind": "syncpool-hits", "trials": "10000"}); !invariant.Race && f["/trial/hits:trials"] < 9900 {
		t.Errorf("syncpool-hits: %v", f)
	}
	if f := figuresOf(t, "loop-trials", given{"trial": "sizes"}); f["/trial/arena:bytes"] != taskArenaLen*f["/trial/task:bytes"] {
		t.Errorf("sizes: %v", f)
	}
}

// TestShockwaveReadsTheSame holds that all copying modes do the same work, and
// that held requests stay intact.
func TestShockwaveReadsTheSame(t *testing.T) {
	for _, shape := range []string{"typical", "headers", "large", "line"} {
		for _, held := range []string{"1", "30"} {
			want := uint64(0)
			for _, mode := range []string{"heap", "pooled", "connection", "slab"} {
				runtime.GC() // a pool keeps the previous mode's objects for two collections
				runtime.GC()
				task := build(t, "shockwave", given{"mode": mode, "shape": shape, "held": held}, 1).(*shockwave)
				sum := task.Loop(0, 100)
				if want == 0 {
					want = sum
				}
				if sum != want || sum == 0 {
					t.Errorf("%s %s, %s held: sum %d, want %d", mode, shape, held, sum, want)
				}
				var rec cell.Record
				task.Report(&rec)
				if mode == "slab" && held == "30" && rec.Metrics["/shockwave/held:bytes"] < 29*slabRequestBytes {
					t.Errorf("%s, %s held: %v bytes held", shape, held, rec.Metrics["/shockwave/held:bytes"])
				}
				if err := task.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		task := build(t, "shockwave", given{"mode": "alias", "shape": shape}, 1).(workload.Closed)
		// The document's table has 3, and with headers 66, two of them for slices.
		want := map[string]float64{"typical": 3, "headers": 64}[shape]
		if allocs, _ := perOperation(task, 100); !invariant.Race && (allocs < want-0.1 || allocs > want+0.1) {
			t.Errorf("alias %s: %v allocations an operation, want %v", shape, allocs, want)
		}
	}
}

// TestLimitsAllocate holds how many allocations the cases of exercise-limits make.
func TestLimitsAllocate(t *testing.T) {
	want := map[string]float64{
		"convert-short": 0, "convert-lookup": 0, "convert-slice": 0, "concat3": 1, "concat3-builder": 1,
		"append4": 0, "buffer32": 1, "buffer32-pool": 0, "predicate": 0, "predicate-typed": 0,
		"box-small": 0, "json-written": 0, "malloc-16": 1, "malloc-32768": 1,
	}
	// Go 1.26.9 and 1.27 move an appended slice to the heap if a range loop reads
	// it later: the loop keeps a pointer into it (go.dev/issue/79909).
	if version.Compare(runtime.Version(), "go1.26.9") >= 0 {
		want["append4"] = 1
	}
	for _, name := range limitNames() {
		task := build(t, "exercise-limits", given{"limit": name}, 1).(*exerciseLimits)
		allocs, _ := perOperation(task, 200)
		if w, ok := want[name]; ok && !invariant.Race && (allocs < w-0.1 || allocs > w+0.2) {
			t.Errorf("%s: %v allocations an operation, want %v", name, allocs, w)
		}
		if err := task.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFinalizerCycle(t *testing.T) {
	figures := figuresOf(t, "trial", given{"kind": "finalizer-cycle", "trials": "200"})
	if hits := figures["/trial/hits:trials"]; hits < 190 || figures["/trial/left:objects"] > 10 {
		t.Errorf("%v", figures)
	}
}

func TestGCCost(t *testing.T) {
	for _, beside := range []string{"nothing", "map-pointers", "map-numbers", "arena-empty", "arena-full"} {
		task := build(t, "gccost", given{"beside": beside, "keys": "1000"}, 1).(*gcCost)
		if n := task.Loop(0, 2); n != 2 {
			t.Errorf("%s: %d", beside, n)
		}
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	}
}
