package strategy

import "sync"

func init() {
	// A sync.Pool of pointers to buffers.
	Register("syncpool", func(size, _ int) (Strategy, error) {
		s := new(syncPool)
		s.pool.New = func() any {
			b := make([]byte, size)
			return &b
		}
		return s, nil
	})
}

// syncPool stores pointers, which an interface holds without an allocation.
type syncPool struct{ pool sync.Pool }

func (s *syncPool) Worker(int) Worker { return s }

func (s *syncPool) Do(work func([]byte) uint64) uint64 {
	b := s.pool.Get().(*[]byte)
	sum := work(*b)
	s.pool.Put(b)
	return sum
}
