package strategy

import "sync"

func init() {
	// A sync.Pool of pointers to buffers, which an interface holds without an
	// allocation.
	Register("syncpool", func(size, workers int) ([]Worker, error) {
		pool := &sync.Pool{New: func() any {
			b := make([]byte, size)
			return &b
		}}
		return shared(workers, func(work func([]byte) uint64) uint64 {
			b := pool.Get().(*[]byte)
			sum := work(*b)
			pool.Put(b)
			return sum
		}), nil
	})
}
