package strategy

import (
	"fmt"

	"github.com/isobar-go/isobar/pool"
)

func init() {
	// Package pool, Bytes: buffers in size classes.
	Register("pool-bytes", func(size, _ int) (Strategy, error) {
		if size > pool.MaxBytes {
			return nil, fmt.Errorf("size %d: want at most %d, the largest class", size, pool.MaxBytes)
		}
		return &bytesPool{pool.NewBytes(), size}, nil
	})
}

type bytesPool struct {
	pool *pool.Bytes
	size int
}

func (s *bytesPool) Worker(int) Worker { return s }

func (s *bytesPool) Do(work func([]byte) uint64) uint64 {
	b := s.pool.Get(s.size)
	sum := work(b)
	s.pool.Put(b)
	return sum
}
