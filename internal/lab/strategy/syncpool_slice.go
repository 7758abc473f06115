package strategy

import "sync"

func init() {
	// A sync.Pool of slices, boxed again by every Put.
	Register("syncpool-slice", func(size, _ int) (Strategy, error) {
		s := new(syncPoolSlice)
		s.pool.New = func() any { return make([]byte, size) }
		return s, nil
	})
}

// syncPoolSlice is the pool as people often write it (seed document 000, step
// 6). Put converts the slice to an interface, which allocates its header.
type syncPoolSlice struct{ pool sync.Pool }

func (s *syncPoolSlice) Worker(int) Worker { return s }

func (s *syncPoolSlice) Do(work func([]byte) uint64) uint64 {
	b := s.pool.Get().([]byte)
	sum := work(b)
	s.pool.Put(b) //lint:ignore SA6002 this strategy shows that allocation
	return sum
}
