package slab

import (
	"testing"

	"github.com/isobar-go/isobar/internal/base/gctest"
)

// TestValuesSurviveCollections keeps values with pointers in a slab on the
// heap, the only kind that accepts them, while some are removed and others
// inserted.
func TestValuesSurviveCollections(t *testing.T) {
	gctest.Survive(t, func(collect func()) {
		s, err := New[gctest.Value](Config{OnHeap: true})
		if err != nil {
			t.Fatal(err)
		}
		handles := make([]Handle[gctest.Value], 2*chunkSlots)
		for i := range handles {
			handles[i] = s.Insert(gctest.New(i))
		}
		for round := range gctest.Rounds {
			collect()
			for i := round % 7; i < len(handles); i += 7 {
				v, ok := s.Get(handles[i])
				if !ok {
					t.Fatalf("value %d is gone", i)
				}
				v.Check(t, i)
				s.Remove(handles[i])
				handles[i] = s.Insert(gctest.New(i))
			}
		}
		for i, h := range handles {
			v, _ := s.Get(h)
			v.Check(t, i)
		}
	})
}
