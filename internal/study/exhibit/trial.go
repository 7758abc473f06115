package exhibit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "trial",
		Summary: "repeat one action and count how often it has a certain outcome",
		Params: []workload.Param{
			// trialKinds is complete after init
			{Name: "kind", Default: "gc-while-off", Help: "what to try; an unknown name lists all"},
			{Name: "trials", Default: "60", Help: "how often", Check: workload.IntRange(1, 100_000_000)},
		},
		New: newTrial,
	})
}

// A trial does something n times and returns how often it had the outcome that
// its kind stands for. It may add figures to the record.
type trial func(n int, rec *cell.Record) (hits int, err error)

// trialKinds are the kinds by name; each file adds its own in init. They count
// what the seed documents' code does, rebuilt here in as few lines as possible.
var trialKinds = map[string]trial{}

type trialTask struct {
	kind trial
	n    int
}

func newTrial(env workload.Env) (workload.Task, error) {
	name := env.Params.String("kind")
	kind := trialKinds[name]
	if kind == nil {
		names := slices.Sorted(maps.Keys(trialKinds))
		return nil, fmt.Errorf("workload: trial: unknown kind %q%s (there are: %s)",
			name, workload.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return &trialTask{kind, env.Params.Int("trials")}, nil
}

// Run implements Whole.
func (t *trialTask) Run(_ context.Context, rec *cell.Record) error {
	hits, err := t.kind(t.n, rec)
	if err != nil {
		return fmt.Errorf("workload: trial: %w", err)
	}
	rec.Set("/trial/hits:trials", float64(hits))
	rec.Set("/trial/count:trials", float64(t.n))
	return nil
}

func (t *trialTask) Close() error { return nil }
