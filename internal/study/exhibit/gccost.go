package exhibit

import (
	"runtime"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "gccost",
		Summary: "what a forced collection costs with a data structure live: maps by key type, a task arena empty or full",
		Params: workload.WithBudget("60", "0",
			workload.Choice("beside", "nothing", "nothing, map-pointers (keys that hold a pointer), map-numbers, arena-empty "+
				"or arena-full (65,536 slots for tasks)", "nothing", "map-pointers", "map-numbers", "arena-empty", "arena-full"),
			workload.Int("keys", "500_000", "keys of a map", 1, 100_000_000),
		),
		New: newGCCost,
	})
}

// gcCost measures collections beside data that seed documents say the collector skips:
// document 003, exercise 13 (a map with number keys is not scanned), and document 004,
// section 1.1 (the task arena is not traversed). An operation is runtime.GC().
type gcCost struct {
	workload.Budgeted
	byPointer map[byPointer]struct{}
	byNumber  map[byNumber]struct{}
	arena     *taskArena
	count     atomic.Int64 // publishes nothing
}

// byPointer and byNumber are the keys of exercise 13.
type (
	tenant    struct{ id uint64 }
	byPointer struct {
		tenant *tenant
		id     uint64
	}
	byNumber struct{ tenant, id uint64 }
)

func newGCCost(env workload.Env) (workload.Task, error) {
	t, keys := &gcCost{Budgeted: env.Budget}, uint64(env.Params.Int("keys"))
	switch env.Params.String("beside") {
	case "map-pointers":
		t.byPointer = make(map[byPointer]struct{}, keys)
		tenants := make([]*tenant, 1000)
		for i := range tenants {
			tenants[i] = &tenant{uint64(i)}
		}
		for i := range keys {
			t.byPointer[byPointer{tenants[i%1000], i}] = struct{}{}
		}
	case "map-numbers":
		t.byNumber = make(map[byNumber]struct{}, keys)
		for i := range keys {
			t.byNumber[byNumber{i % 1000, i}] = struct{}{}
		}
	case "arena-empty":
		t.arena = new(taskArena)
	case "arena-full":
		t.arena = new(taskArena)
		for i := range int64(taskArenaLen) {
			t.arena.alloc().run = func() { t.count.Add(i) }
		}
	}
	return t, nil
}

func (t *gcCost) Loop(_ int, n int64) uint64 {
	for range n {
		runtime.GC()
	}
	return uint64(n)
}

func (t *gcCost) Close() error {
	runtime.KeepAlive(t)
	return nil
}
