package pool

import (
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/overcommit"
)

// A goroutine that loses its CPU in Get or Put does not delay the others: throughput does not
// collapse with more Ps than CPUs, with enough objects for all and, where Get waits, with too few.
func TestMorePsThanCPUs(t *testing.T) {
	const many, few = 1000, 2
	configs := kinds(many)
	configs["too few"] = Config[owned]{Kind: Bounded, Limit: few}
	for name, cfg := range configs {
		p := New(cfg)
		channel := make(chan *owned, many)
		for len(channel) < many && (cfg.Limit != few || len(channel) < few) {
			channel <- new(owned)
		}
		overcommit.Check(t, name+": Get and Put", func(_ int, operations *atomic.Int64, over *atomic.Bool) {
			for ; !over.Load(); operations.Add(1) {
				p.Put(p.Get())
			}
		}, func(_ int, operations *atomic.Int64, over *atomic.Bool) {
			for ; !over.Load(); operations.Add(1) {
				channel <- <-channel
			}
		})
	}
}
