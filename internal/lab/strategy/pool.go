package strategy

import "github.com/isobar-go/isobar/pool"

func init() {
	// This module's object pool, with buffers of one size.
	Register("pool", func(size, workers int) ([]Worker, error) {
		p := pool.New(pool.Config[[]byte]{New: func() *[]byte {
			b := make([]byte, size)
			return &b
		}})
		return shared(workers, func(work func([]byte) uint64) uint64 {
			b := p.Get()
			sum := work(*b)
			p.Put(b)
			return sum
		}), nil
	})
}
