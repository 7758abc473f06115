package workload

func init() {
	Register(&Workload{
		Name:    "dummy",
		Summary: "count",
		Params:  WithBudget("1_000", "10s", Int("step", "1", "by how much", 1, 9)),
		New:     newDummy,
	})
}

type dummy struct {
	Budgeted
	step uint64
}

func newDummy(env Env) (Task, error) {
	return &dummy{env.Budget, uint64(env.Params.Int("step"))}, nil
}

func (d *dummy) Loop(_ int, n int64) uint64 { return uint64(n) * d.step }
