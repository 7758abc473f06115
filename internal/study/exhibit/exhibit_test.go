package exhibit

import (
	"runtime"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

type given map[string]string

func tryBuild(name string, g given, seed uint64) (workload.Task, error) {
	w, err := workload.Lookup(name)
	if err != nil {
		return nil, err
	}
	p, err := w.Resolve(g)
	if err != nil {
		return nil, err
	}
	return w.New(workload.Env{Params: p, GC: cell.DefaultGC, Seed: seed})
}

func build(t testing.TB, name string, g given, seed uint64) workload.Task {
	t.Helper()
	task, err := tryBuild(name, g, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := task.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	})
	return task
}

// drive performs ops operations of a closed task on each worker, in pieces of
// the given size, on all workers at once.
func drive(task workload.Closed, ops, piece int64) (sum uint64) {
	sums := make([]uint64, task.Workers()) // sums[i] belongs to worker i until Wait
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			for left := ops; left > 0; left -= piece {
				sums[i] += task.Loop(i, min(piece, left))
			}
		})
	}
	wg.Wait()
	for _, s := range sums {
		sum += s
	}
	return sum
}

// perOperation measures allocations and bytes per operation.
func perOperation(task workload.Closed, ops int64) (allocs, bytes float64) {
	drive(task, ops, ops) // warm up pools and buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	task.Loop(0, ops)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(ops), float64(after.TotalAlloc-before.TotalAlloc) / float64(ops)
}

// TestDefaultsAreValid: every default passes its own check.
func TestDefaultsAreValid(t *testing.T) {
	for _, w := range workload.All() {
		if _, err := w.Resolve(nil); err != nil {
			t.Error(err)
		}
	}
}
