package workload

func init() {
	Register(&Workload{
		Name:    "strategies",
		Summary: "fill and sum a buffer from a memory strategy",
		Params: WithBudget("0", "10s",
			// Env.Strategy checks the name.
			Param{Name: "strategy", Default: "plain", Help: "how an operation obtains its buffer"},
			Bytes("size", "1024", "size of a buffer", 1, 1<<28),
			Int("goroutines", "1", "concurrent goroutines", 1, maxWorkers),
		),
		New: newStrategies,
	})
}

// strategies is the comparison of seed document 000, step 6, over the
// strategies of package strategy.
type strategies struct {
	Budgeted
	workers []func(work func([]byte) uint64) uint64
}

func newStrategies(env Env) (Task, error) {
	p := env.Params
	workers, err := env.Strategy(p.String("strategy"), p.Bytes("size"), p.Int("goroutines"))
	return &strategies{env.Budget, workers}, err
}

func (t *strategies) Workers() int { return len(t.workers) }

func (t *strategies) Loop(worker int, n int64) uint64 {
	w := t.workers[worker]
	var sum uint64
	for range n {
		sum += w(fillAndSum)
	}
	return sum
}

// fillAndSum is the work: it writes every byte and adds up the bytes.
func fillAndSum(b []byte) uint64 {
	var sum uint64
	for i := range b {
		b[i] = byte(i)
		sum += uint64(b[i])
	}
	return sum
}
