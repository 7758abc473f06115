package pool

import (
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/overcommit"
)

// A goroutine that loses its CPU in Get or Put does not hold up the others:
// throughput does not collapse with more Ps than CPUs, with enough objects for
// all and, where Get waits, with too few.
func TestMorePsThanCPUs(t *testing.T) {
	if testing.Short() || invariant.Enabled {
		t.Skip("takes seconds; and the checks slow our side alone")
	}
	const many, few = 1000, 2
	configs := kinds(many)
	configs["too few"] = Config[owned]{Kind: Bounded, Limit: few}
	for name, cfg := range configs {
		p := New(cfg)
		channel := make(chan *owned, many)
		for len(channel) < many && (cfg.Limit != few || len(channel) < few) {
			channel <- new(owned)
		}
		cost := overcommit.Cost(func(_ int, operations *atomic.Int64, over *atomic.Bool) {
			for ; !over.Load(); operations.Add(1) {
				p.Put(p.Get())
			}
		}, func(_ int, operations *atomic.Int64, over *atomic.Bool) {
			for ; !over.Load(); operations.Add(1) {
				channel <- <-channel
			}
		})
		t.Logf("%s: %.2f", name, cost)
		if cost > overcommit.Collapse {
			t.Errorf("%s: Get and Put cost %.1f times as much as by a channel with more Ps than CPUs", name, cost)
		}
	}
}
