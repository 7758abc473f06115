package arena

import (
	"testing"

	"github.com/isobar-go/isobar/arena"
	"github.com/isobar-go/isobar/bench/internal/steps"
	"github.com/ortuman/nuke"
)

const traced = 64

func init() {
	link := func(next func() *node) func() {
		return func() {
			var last *node
			for i := range traced {
				p := next()
				p.left, p.key = last, uint64(i)
				last = p
			}
			sinkNode = last
		}
	}
	parts := func(make, reset func()) []func() {
		make()
		reset()
		return []func(){make, reset}
	}
	steps.Serve(steps.Programs{
		"isobar": func() []func() {
			a, err := arena.OpenTyped[node](arena.TypedConfig{})
			if err != nil {
				panic(err)
			}
			return parts(link(a.New), a.Reset)
		},
		"nuke": func() []func() {
			a := nuke.NewMonotonicArena(traced*64, 1)
			return parts(link(func() *node { return nuke.New[node](a) }), func() { a.Reset(false) })
		},
	})
}

// TestInstructions holds what docs/adr/0017 says about arenas of 64-byte values: ours
// executes less than half of nuke's instructions, so that what is left at 100,000
// values are lines that come from beyond the cache.
func TestInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("traces instruction by instruction")
	}
	ours, peer := steps.PerOperation(t, "isobar", 2, traced), steps.PerOperation(t, "nuke", 2, traced)
	if ratio := (ours[0] + ours[1]) / (peer[0] + peer[1]); ratio > 0.5 {
		t.Errorf("%.2f of the instructions of nuke, want half at most", ratio)
	}
}
