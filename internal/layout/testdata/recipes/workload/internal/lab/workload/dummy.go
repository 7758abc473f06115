package workload

import "fmt"

func init() {
	Register(&Workload{
		Name:    "dummy",
		Summary: "count",
		Params:  WithBudget("1_000", "10s", Param{Name: "step", Default: "1", Help: "by how much", Check: IntRange(1, 9)}),
		New:     newDummy,
	})
}

type dummy struct {
	Budgeted
	step uint64
}

func newDummy(env Env) (Task, error) {
	b, err := NewBudget(env.Params)
	if err != nil {
		return nil, fmt.Errorf("workload: dummy: %w", err)
	}
	return &dummy{b, uint64(env.Params.Int("step"))}, nil
}

func (d *dummy) Workers() int { return 1 }

func (d *dummy) Loop(_ int, n int64) uint64 { return uint64(n) * d.step }

func (d *dummy) Close() error { return nil }
