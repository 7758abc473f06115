package exhibit

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// syncpoolHits takes a buffer from a pool and puts it back, n times, with a collection
// every 1,000, and returns how often the pool had one: seed document 003, exercise 6.
func syncpoolHits(n int, _ *cell.Record) int {
	made := 0
	pool := sync.Pool{New: func() any { made++; return new([256]byte) }}
	for i := range n {
		pool.Put(pool.Get())
		if i%1000 == 999 {
			runtime.GC()
		}
	}
	return n - made
}

// sizeClasses counts the distinct sizes to which the runtime rounds small objects up.
func sizeClasses(n int, rec *cell.Record) int {
	const largestSmall = 32 << 10
	sizes := map[int]bool{}
	for size := 1; size <= largestSmall; size++ {
		sizes[cap(append([]byte(nil), make([]byte, size)...))] = true
	}
	rec.Set("/trial/classes:classes", float64(len(sizes)))
	return n
}

// finalizerRecord measures the memory outside the heap that n finalizers take.
func finalizerRecord(n int, rec *cell.Record) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	objects := make([]*finalized, n)
	for i := range objects {
		objects[i] = new(finalized)
	}
	const other = "/memory/classes/other:bytes"
	before := workload.ReadMetric(other)
	for _, o := range objects {
		runtime.SetFinalizer(o, func(*finalized) {})
	}
	after := workload.ReadMetric(other)
	rec.Set("/trial/record:bytes", float64(after-min(before, after))/float64(n))
	for _, o := range objects {
		runtime.SetFinalizer(o, nil)
	}
	return n
}
