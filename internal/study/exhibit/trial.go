package exhibit

import (
	"context"
	"maps"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "trial",
		Summary: "repeat one action and count how often it has a certain outcome",
		Params: []workload.Param{
			workload.Choice("kind", "gc-while-off", "what to try; an unknown name lists all",
				slices.Sorted(maps.Keys(trialKinds))...),
			workload.Int("trials", "60", "how often", 1, 100_000_000),
		},
		New: newTrial,
	})
}

// A trial does something n times and returns how often it had the outcome that its kind
// counts. It may add figures to the record.
type trial func(n int, rec *cell.Record) (hits int)

// trialKinds are the kinds by name. They count the effects of the seed documents' code,
// rebuilt here in as few lines as possible.
var trialKinds = map[string]trial{
	"arena-large":          trialArenaLarge,
	"arena-slot":           trialArenaSlot,
	"arena-tokens":         trialArenaTokens,
	"controller-env":       trialControllerEnv,
	"during-beside-enable": trialDuringBesideEnable,
	"finalizer-cycle":      finalizerCycle,
	"finalizer-record":     finalizerRecord,
	"force-beside-enable":  trialForceBesideEnable,
	"gc-while-off":         trialGCWhileOff,
	"off-while-marking":    trialOffWhileMarking,
	"percent-leak":         trialPercentLeak,
	"sharded-pool":         trialShardedPool,
	"size-classes":         sizeClasses,
	"stale-timestamp":      trialStaleTimestamp,
	"syncpool-after-1":     trialPoolEviction,
	"syncpool-hits":        syncpoolHits,
}

// A whole is a task that is a single function, with nothing to close.
type whole func(rec *cell.Record) error

// Run implements Whole.
func (f whole) Run(_ context.Context, rec *cell.Record) error { return f(rec) }

func (whole) Close() error { return nil }

func newTrial(env workload.Env) (workload.Task, error) {
	kind, n := trialKinds[env.Params.String("kind")], env.Params.Int("trials")
	return whole(func(rec *cell.Record) error {
		rec.Set("/trial/hits:trials", float64(kind(n, rec)))
		rec.Set("/trial/count:trials", float64(n))
		return nil
	}), nil
}
