package strategy

import (
	"fmt"

	"github.com/isobar-go/isobar/pool"
)

func init() {
	// Package pool, Bytes: buffers in size classes.
	Register("pool-bytes", func(size, workers int) ([]Worker, error) {
		if size > pool.MaxBytes {
			return nil, fmt.Errorf("size %d: want at most %d, the largest class", size, pool.MaxBytes)
		}
		p := pool.NewBytes()
		return shared(workers, func(work func([]byte) uint64) uint64 {
			b := p.Get(size)
			sum := work(b)
			p.Put(b)
			return sum
		}), nil
	})
}
