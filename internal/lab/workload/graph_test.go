package workload

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func TestGraphLayoutsHaveTheSameSum(t *testing.T) {
	w, err := Lookup("graph")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]uint64{}
	for _, layout := range []string{"pointers", "arena", "slab"} {
		params, err := w.Resolve(map[string]string{"nodes": "1000", "layout": layout})
		if err != nil {
			t.Fatal(err)
		}
		task, err := w.New(Env{Params: params, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		sums[layout] = task.(Closed).Loop(0, 3)
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	}
	var want uint64
	for tree := uint64(8); tree <= 10; tree++ {
		for i := range 1000 {
			want += key(tree, i)
		}
	}
	for layout, sum := range sums {
		if sum != want {
			t.Errorf("%s: sum %#x, want %#x", layout, sum, want)
		}
	}
}

// TestGraphLayoutsDifferInScannableHeap measures how much of the remaining tree the collector has
// to scan: almost nothing for the slab.
func TestGraphLayoutsDifferInScannableHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	w, err := Lookup("graph")
	if err != nil {
		t.Fatal(err)
	}
	const nodes = 100_000
	heap := func(layout string) uint64 {
		params, err := w.Resolve(map[string]string{"nodes": "100000", "layout": layout})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // frees what pools and finalizers kept in the first
		runtime.ReadMemStats(&before)
		task, err := w.New(Env{Params: params})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if err := task.Close(); err != nil {
			t.Error(err)
		}
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	if got := heap("pointers"); got < 23*nodes { // 24 each, less what was collected in between
		t.Errorf("pointers: %d bytes of live heap, want at least %d", got, 23*nodes)
	}
	// A race build keeps the slab on the heap, where the detector sees it.
	if got := heap("slab"); got > nodes && !invariant.Race {
		t.Errorf("slab: %d bytes of live heap for %d nodes, want next to none", got, nodes)
	}
}
