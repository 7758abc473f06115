package exhibit

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A finalized object is large enough for a size class of its own.
type finalized struct{ data [1024]byte }

// finalizerCycle makes n objects with finalizers, drops them, and returns how many still
// occupy memory after one collection: seed document 003, exercise 17. It counts bytes, not
// finalizers, and measures again once all finalizers have run.
func finalizerCycle(n int, rec *cell.Record) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range 3 { // leftovers in pools and behind finalizers take up to three
		liveHeap()
	}
	base := liveHeap()
	var ran atomic.Int64
	for range n {
		runtime.SetFinalizer(new(finalized), func(*finalized) { ran.Add(1) })
	}
	first := liveHeap()
	for ran.Load() < int64(n) { // the goroutine that runs finalizers may lag
		time.Sleep(100 * time.Microsecond)
		runtime.GC()
	}
	objects := func(live uint64) int {
		return int(max(live, base)-base) / len(finalized{}.data)
	}
	rec.Set("/trial/left:objects", float64(objects(liveHeap())))
	return min(objects(first), n)
}

// collected runs a collection and returns the memory statistics after it.
func collected() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

func liveHeap() uint64 { return collected().HeapAlloc }
