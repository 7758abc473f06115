package strategy

import "sync"

func init() {
	// A sync.Pool of slices, as people often write it (seed document 000, step 6):
	// every Put converts the slice to an interface, which allocates its header.
	Register("syncpool-slice", func(size, workers int) ([]Worker, error) {
		pool := &sync.Pool{New: func() any { return make([]byte, size) }}
		return shared(workers, func(work func([]byte) uint64) uint64 {
			b := pool.Get().([]byte)
			sum := work(b)
			pool.Put(b) //lint:ignore SA6002 this strategy shows that allocation
			return sum
		}), nil
	})
}
