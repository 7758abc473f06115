package exhibit

import (
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "tickpool",
		Summary: "the market tick operation of seed document 000 without its ticker, with and without its pool",
		Params: workload.WithBudget("500_000", "0",
			workload.Switch("pool", "off", "on: take ticks from a pool; off: allocate each"),
		),
		New: newTickpool,
	})
}

// tickpool runs the operations that ticker times, one after another: the effect of pool and
// collector shows only when no ticks are dropped.
type tickpool struct {
	workload.Budgeted
	processor *seedProcessor
}

func newTickpool(env workload.Env) (workload.Task, error) {
	return &tickpool{env.Budget, newSeedProcessor(env.Params.Bool("pool"), env.Seed)}, nil
}

func (t *tickpool) Loop(_ int, n int64) (sum uint64) {
	for range n {
		sum += t.processor.operation()
	}
	return sum
}

// trialStaleTimestamp counts how often a tick from the pool, reset as in the document,
// still has the timestamp of the previous one.
func trialStaleTimestamp(n int, _ *cell.Record) (hits int) {
	p := newSeedProcessor(true, 1)
	for range cap(p.pool) {
		p.operation()
	}
	for range n {
		t := p.get()
		if !t.timestamp.IsZero() {
			hits++
		}
		p.put(t)
	}
	return hits
}
