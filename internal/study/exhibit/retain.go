package exhibit

import (
	"math/rand/v2"

	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "retain",
		Summary: "add an object to a full list and drop a random older one, closing the gap or swapping",
		Params: workload.WithBudget("100_000", "0",
			workload.Choice("remove", "shift", "shift: close the gap; swap: the last takes its place", "shift", "swap"),
			workload.Int("retained", "10_000", "objects in the list", 2000, 10_000_000),
		),
		New: newRetain,
	})
}

// retain is what seed document 000, step 1, does inside its timed operation once it keeps
// 10,000 objects: it removes one from the middle of a slice, never one of the latest 1,000.
type retain struct {
	workload.Budgeted
	swap bool
	list []*listed
	rng  *rand.Rand
}

// A listed object has the same size as an object of the workload alloc.
type listed struct {
	id int64
	_  [48]byte
}

func newRetain(env workload.Env) (workload.Task, error) {
	t := &retain{
		Budgeted: env.Budget, swap: env.Params.String("remove") == "swap", rng: rand.New(rand.NewPCG(env.Seed, 0x72657461)),
	}
	n := env.Params.Int("retained")
	t.list = make([]*listed, 0, n+1)
	for i := range n {
		t.list = append(t.list, &listed{id: int64(i)})
	}
	return t, nil
}

func (t *retain) Loop(_ int, n int64) (sum uint64) {
	for range n {
		i := t.rng.IntN(len(t.list) - 1000)
		o := t.list[i]
		t.list = append(t.list, o)
		if last := len(t.list) - 1; t.swap {
			t.list[i], t.list = t.list[last], t.list[:last]
		} else {
			t.list = append(t.list[:i], t.list[i+1:]...)
		}
		sum += uint64(o.id)
	}
	return sum
}
