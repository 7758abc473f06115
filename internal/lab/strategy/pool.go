package strategy

import "github.com/isobar-go/isobar/pool"

// The three kinds of this module's object pool, with buffers of one size.
func init() {
	// Idle buffers go to the collector.
	Register("pool", func(size, workers int) ([]Worker, error) {
		return objectPool(size, workers, pool.Config[[]byte]{})
	})
	// Idle buffers survive collections.
	Register("pool-retaining", func(size, workers int) ([]Worker, error) {
		return objectPool(size, workers, pool.Config[[]byte]{Kind: pool.Retaining})
	})
	// As many buffers as workers; Get waits.
	Register("pool-bounded", func(size, workers int) ([]Worker, error) {
		return objectPool(size, workers, pool.Config[[]byte]{Kind: pool.Bounded, Limit: workers})
	})
}

func objectPool(size, workers int, config pool.Config[[]byte]) ([]Worker, error) {
	config.New = func() *[]byte {
		b := make([]byte, size)
		return &b
	}
	p := pool.New(config)
	return shared(workers, func(work func([]byte) uint64) uint64 {
		b := p.Get()
		sum := work(*b)
		p.Put(b)
		return sum
	}), nil
}
