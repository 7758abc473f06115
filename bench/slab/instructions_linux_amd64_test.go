package slab

import (
	"testing"

	"github.com/isobar-go/isobar/bench/internal/steps"
	"github.com/isobar-go/isobar/slab"
)

const traced = 64

func init() {
	steps.Serve(steps.Programs{
		"isobar": func() []func() {
			s, err := slab.New[object](slab.Config{})
			if err != nil {
				panic(err)
			}
			handles := make([]slab.Handle[object], traced)
			for i := range handles {
				handles[i] = s.Insert(object{key: 1})
			}
			return []func(){func() {
				for _, h := range handles {
					if v, ok := s.Get(h); ok {
						sinkSum += v.key
					}
				}
			}}
		},
		"slotmap": func() []func() {
			var s slotMap[object]
			handles := make([]uint64, traced)
			for i := range handles {
				handles[i] = s.insert(object{key: 1})
			}
			return []func(){func() {
				for _, h := range handles {
					if v, ok := s.get(h); ok {
						sinkSum += v.key
					}
				}
			}}
		},
	})
}

// TestInstructions holds what docs/adr/0017 says about Get: it executes about as many
// instructions as a bare slot map, so that what it costs more are loads that wait.
func TestInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("traces instruction by instruction")
	}
	ours, peer := steps.PerOperation(t, "isobar", 1, traced)[0], steps.PerOperation(t, "slotmap", 1, traced)[0]
	if ours > peer+3 {
		t.Errorf("Get executes %.1f instructions, want at most 3 more than the slot map's %.1f", ours, peer)
	}
}
