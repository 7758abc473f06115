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
// strategies of package strategy; an interface connects the two.
type strategies struct {
	Budgeted
	workers []StrategyWorker
}

func newStrategies(env Env) (Task, error) {
	t := &strategies{Budgeted: env.Budget, workers: make([]StrategyWorker, env.Params.Int("goroutines"))}
	s, err := env.Strategy(env.Params.String("strategy"), env.Params.Bytes("size"), len(t.workers))
	if err != nil {
		return nil, err
	}
	for i := range t.workers {
		t.workers[i] = s.Worker(i)
	}
	return t, nil
}

func (t *strategies) Workers() int { return len(t.workers) }

func (t *strategies) Loop(worker int, n int64) uint64 {
	w := t.workers[worker]
	var sum uint64
	for range n {
		sum += w.Do(fillAndSum)
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
