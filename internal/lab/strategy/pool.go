package strategy

import "github.com/isobar-go/isobar/pool"

// The three kinds of this module's object pool, with buffers of one size.
func init() {
	for _, k := range []struct {
		name   string
		config func(workers int) pool.Config[[]byte]
	}{
		// Idle buffers go to the collector.
		{"pool", func(int) pool.Config[[]byte] { return pool.Config[[]byte]{} }},
		// Idle buffers survive collections.
		{"pool-retaining", func(int) pool.Config[[]byte] { return pool.Config[[]byte]{Kind: pool.Retaining} }},
		// As many buffers as workers; Get waits.
		{"pool-bounded", func(n int) pool.Config[[]byte] { return pool.Config[[]byte]{Kind: pool.Bounded, Limit: n} }},
	} {
		Register(k.name, func(size, workers int) (Strategy, error) {
			config := k.config(workers)
			config.New = func() *[]byte {
				b := make([]byte, size)
				return &b
			}
			return objectPool{pool.New(config)}, nil
		})
	}
}

type objectPool struct{ pool *pool.Pool[[]byte] }

func (s objectPool) Worker(int) Worker { return s }

func (s objectPool) Do(work func([]byte) uint64) uint64 {
	b := s.pool.Get()
	sum := work(*b)
	s.pool.Put(b)
	return sum
}
