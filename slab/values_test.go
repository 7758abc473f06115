package slab

import "testing"

// TestValuesOfAllSizes inserts values that Insert copies in different ways, into
// unused slots and into freed ones.
func TestValuesOfAllSizes(t *testing.T) {
	testValues(t, func(i uint64) [1]uint64 { return [1]uint64{i} })
	testValues(t, func(i uint64) [4]uint64 { return [4]uint64{i, i + 1, i + 2, i + 3} })
	testValues(t, func(i uint64) [5]uint64 { return [5]uint64{i, 4: ^i} })
	testValues(t, func(i uint64) [16]uint64 { return [16]uint64{i, i + 1, 15: ^i} })
	testValues(t, func(i uint64) [17]uint64 { return [17]uint64{i, i + 1, 16: ^i} })
	testValues(t, func(i uint64) [11]uint32 { return [11]uint32{uint32(i), 10: ^uint32(i)} })
	testValues(t, func(i uint64) [77]byte { return [77]byte{byte(i), 76: ^byte(i)} })
	testValues(t, func(i uint64) [6]float64 { return [6]float64{float64(i), 5: -float64(i)} })
	type mixed struct {
		a    uint8
		b    uint64
		c, d uint16
		e    [5]uint64
		f    bool
	}
	testValues(t, func(i uint64) mixed { return mixed{uint8(i), i, uint16(i), 7, [5]uint64{4: ^i}, i%2 == 0} })
}

func testValues[T comparable](t *testing.T, value func(uint64) T) {
	for _, config := range []Config{{}, {OnHeap: true}} {
		s, err := New[T](config)
		if err != nil {
			t.Fatal(err)
		}
		const n = 100
		var handles [n]Handle[T]
		for round := range uint64(3) {
			for i := range handles {
				handles[i] = s.Insert(value(round*n + uint64(i)))
			}
			for i, h := range handles {
				if v, ok := s.Get(h); !ok || *v != value(round*n+uint64(i)) {
					t.Errorf("%T, %+v: object %d of round %d is %v, %t", *v, config, i, round, *v, ok)
				}
				s.Remove(h)
			}
		}
		s.Release()
	}
}
