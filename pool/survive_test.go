package pool

import (
	"testing"

	"github.com/isobar-go/isobar/internal/base/gctest"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestValuesSurviveCollections stores values with pointers in the objects of
// each kind of pool. Objects in use must keep them. Idle ones must too, unless
// a Cached pool has dropped them or a checking build has poisoned them.
func TestValuesSurviveCollections(t *testing.T) {
	gctest.Survive(t, func(collect func()) {
		const objects = 200
		for _, kind := range []Kind{Cached, Retaining, Bounded} {
			made := 0
			config := Config[gctest.Value]{Kind: kind, New: func() *gctest.Value {
				made++
				v := gctest.New(made)
				return &v
			}}
			if kind == Bounded {
				config.Limit = objects
			}
			p := New(config)
			inUse := make([]*gctest.Value, objects)
			take := func(i int) {
				inUse[i] = p.Get()
				if !invariant.Enabled {
					inUse[i].Check(t, inUse[i].N) // its value from before it was idle
				}
				*inUse[i] = gctest.New(i + 1)
			}
			for i := range inUse {
				take(i)
			}
			for round := range gctest.Rounds {
				for i := round % 2; i < objects; i += 2 {
					p.Put(inUse[i])
					inUse[i] = nil
				}
				collect()
				for i, v := range inUse {
					if v != nil {
						v.Check(t, i+1)
					} else {
						take(i)
					}
				}
			}
			// A Retaining pool makes more for other Ps, and keeps those as well.
			idle := int(p.Stats().Idle)
			if kind != Cached && made != objects+idle || kind == Bounded && idle != 0 || idle > DefaultMaxIdle/4 {
				t.Errorf("kind %d: %d objects were made, %d are in use and %d idle: some were lost", kind, made, objects, idle)
			}
		}
	})
}
