package workload

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// perOperation measures allocations and bytes per operation.
func perOperation(task Closed, ops int64) (allocs, bytes float64) {
	drive(task, ops, ops) // warm up pools and buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	task.Loop(0, ops)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(ops), float64(after.TotalAlloc-before.TotalAlloc) / float64(ops)
}

var onHeap []float64 // grows like any slice on the heap

func TestOperationsAllocateAsPromised(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds allocate differently")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one P finds nothing of what a pool keeps for another
	growths, last := 0.0, 0
	onHeap = nil // for -count
	for range 1000 {
		onHeap = append(onHeap, 0)
		if cap(onHeap) != last {
			growths, last = growths+1, cap(onHeap)
		}
	}
	const any = -1
	for _, c := range []struct {
		name          string
		g             given
		allocs, bytes float64
	}{
		{"alloc", nil, 3, 10240 + 24 + 64}, // data, references, the object (56 bytes, in a class of 64)
		{"alloc", given{"size": "100", "refs": "9"}, 3, 112 + 80 + 64},
		{"strategies", nil, 1, 1024},
		{"buffers", given{"pool": "none"}, 4, 3*8192 + 80},
		{"buffers", given{"pool": "mutex"}, 0, 0},
		{"buffers", given{"pool": "sharded"}, 0, 0},
		{"buffers", given{"pool": "syncpool"}, 0, 0},
		{"prealloc", given{"hint": "on"}, 1, 8192},
		{"prealloc", given{"hint": "off"}, growths, any},
		{"values", given{"return": "value", "size": "small"}, 0, 0},
		{"values", given{"return": "value", "size": "large"}, 0, 0},
		{"values", given{"return": "pointer", "size": "small"}, 1, 16},
		{"values", given{"return": "pointer", "size": "large"}, 1, 1024},
		{"workers", given{"mode": "reuse"}, 0, 0},
	} {
		allocs, bytes := perOperation(build(t, c.name, c.g, 1).(Closed), 500)
		if allocs < c.allocs || allocs > c.allocs+0.1 {
			t.Errorf("%s %v: %v allocations an operation, want %v", c.name, c.g, allocs, c.allocs)
		}
		if c.bytes != any && (bytes < c.bytes || bytes > c.bytes+64) {
			t.Errorf("%s %v: %v bytes an operation, want %v", c.name, c.g, bytes, c.bytes)
		}
	}
	on, _ := perOperation(build(t, "prealloc", given{"kind": "map", "hint": "on"}, 1).(Closed), 100)
	off, _ := perOperation(build(t, "prealloc", given{"kind": "map"}, 1).(Closed), 100)
	if on < 1 || off <= on {
		t.Errorf("a map with a hint: %v allocations, without %v; want at least 1, and more", on, off)
	}
	spawned, _ := perOperation(build(t, "workers", given{"tasks": "100"}, 1).(Closed), 100)
	if spawned < 100 {
		t.Errorf("100 tasks spawned: %v allocations, want at least one each", spawned)
	}
}

func TestAllocKeepsABoundedHeap(t *testing.T) {
	task := build(t, "alloc", given{"retain": "100", "retained": "100", "size": "1KiB", "work": "0"}, 1).(*alloc)
	for range 10 {
		task.Loop(0, 1000)
		if n := len(task.kept.young) + len(task.kept.old); n != 100 {
			t.Fatalf("%d objects kept, want 100", n)
		}
	}
	var rec cell.Record
	task.Report(&rec)
	if got := rec.Metrics["/alloc/retained:objects"]; got != 100 {
		t.Errorf("reports %v objects", got)
	}
}

// TestRetainedDropsLikeTheDocument compares the survivors' ages with the
// document's rule, applied literally.
func TestRetainedDropsLikeTheDocument(t *testing.T) {
	const limit, young, adds, trials = 200, 20, 600, 300
	var ours, theirs [adds]int // how often the object of that number survived
	for trial := range uint64(trials) {
		r := newRetained(limit, rand.New(rand.NewPCG(1, trial)))
		rng := rand.New(rand.NewPCG(2, trial))
		var document []int
		for i := range adds {
			r.add(&object{id: int64(i)})
			document = append(document, i)
			if len(document) > limit {
				at := rng.IntN(len(document) - young)
				document = slices.Delete(document, at, at+1)
			}
		}
		kept := slices.Concat(r.young, r.old)
		if len(kept) != limit || len(document) != limit {
			t.Fatalf("%d and %d kept, want %d", len(kept), len(document), limit)
		}
		for _, o := range kept {
			ours[o.id]++
		}
		for _, i := range document {
			theirs[i]++
		}
	}
	const span = 60
	for from := 0; from < adds; from += span {
		a, b := 0, 0
		for i := from; i < from+span; i++ {
			a, b = a+ours[i], b+theirs[i]
		}
		// Both counts are sums of trials·span chances: six standard
		// deviations of their difference is below 6·sqrt(2·trials·span/4).
		if diff := a - b; diff*diff > 36*trials*span/2 {
			t.Errorf("objects %d to %d: kept %d times, by the document's rule %d times", from, from+span, a, b)
		}
	}
	for i := adds - young; i < adds; i++ {
		if ours[i] != trials {
			t.Errorf("object %d is among the newest %d and was dropped", i, young)
		}
	}
	tiny := newRetained(1, rand.New(rand.NewPCG(1, 1)))
	for range 10 {
		tiny.add(new(object))
	}
	if len(tiny.old) != 1 {
		t.Errorf("limit 1: %d kept", len(tiny.old))
	}
}

func TestColumnPoolsKeepTheirBounds(t *testing.T) {
	for _, kind := range []string{"mutex", "sharded"} {
		task := &buffers{pool: newColumnPool(kind, 10, 4), rows: 10}
		var out []*columns
		for range 20 { // more than the pool holds
			c := task.get()
			if len(c.prices)+len(c.volumes)+len(c.times) != 0 || cap(c.prices) != 10 || slices.Contains(out, c) {
				t.Fatalf("%s: not an empty buffer of its own: %+v", kind, c)
			}
			c.prices = append(c.prices, 1)
			out = append(out, c)
		}
		for _, c := range out {
			task.put(c)
		}
		held := 0
		switch p := task.pool.(type) {
		case *columnList:
			held = len(p.free)
		case shardedPool:
			if len(p) != runtime.GOMAXPROCS(0) {
				t.Errorf("%d shards, want one for each P", len(p))
			}
			for i := range p {
				held += len(p[i].free)
			}
		}
		if most := 4 + runtime.GOMAXPROCS(0); held < 4 || held > most {
			t.Errorf("%s: holds %d buffers, want 4 (at most %d)", kind, held, most)
		}
	}
}

func TestColumnsCompute(t *testing.T) {
	c := newColumns(4)
	c.prices = append(c.prices, 100, 110, 99, 108.9) // +10 %, -10 %, +10 %
	if got := c.movingAverage(2); got != 105 {
		t.Errorf("highest mean of 2: %v, want 105", got)
	}
	want := 0.09428090415820634 // of 0.1, -0.1, 0.1 over 3
	if got := c.volatility(); got < want-1e-12 || got > want+1e-12 {
		t.Errorf("volatility %v, want %v", got, want)
	}
}

func TestWorkersReport(t *testing.T) {
	figures := map[string]cell.Record{}
	for _, mode := range []string{"spawn", "reuse"} {
		task := build(t, "workers", given{"mode": mode, "tasks": "50", "goroutines": "2", "depth": "200"}, 1).(*workers)
		task.Loop(0, 10)
		var rec cell.Record
		task.Report(&rec)
		figures[mode] = rec
		if rec.Metrics["/workers/stack:bytes"] <= 0 {
			t.Errorf("%s: no stack bytes: %v", mode, rec.Metrics)
		}
	}
	const created = "/workers/created:goroutines"
	if spawn, reuse := figures["spawn"].Metrics[created], figures["reuse"].Metrics[created]; spawn < 500 || reuse > 100 {
		t.Errorf("goroutines created: %v spawned, %v reused; want at least 500 and few", spawn, reuse)
	}
}

// TestDepthGrowsStacks: a deep task grows the stack of its goroutine.
func TestDepthGrowsStacks(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a cycle would shrink them
	stacks := func(depth string) uint64 {
		task := build(t, "workers", given{"mode": "reuse", "tasks": "20", "goroutines": "1", "depth": depth}, 1).(*workers)
		task.Loop(0, 1)
		return ReadMetric("/memory/classes/heap/stacks:bytes")
	}
	shallow := stacks("0")
	if deep := stacks("100_000"); deep < shallow+20<<20 {
		t.Errorf("stacks occupy %d bytes at depth 0 and %d at 100,000", shallow, deep)
	}
}
