package strategy

import "github.com/isobar-go/isobar/pool"

// The three kinds of this module's object pool, with buffers of one size.
func init() {
	for _, k := range []struct {
		name, summary string
		config        func(workers int) pool.Config[[]byte]
	}{
		{"pool", "package pool, cached: idle buffers go to the collector",
			func(int) pool.Config[[]byte] { return pool.Config[[]byte]{} }},
		{"pool-retaining", "package pool, retaining: idle buffers survive collections", func(int) pool.Config[[]byte] {
			return pool.Config[[]byte]{Kind: pool.Retaining}
		}},
		{"pool-bounded", "package pool, bounded: as many buffers as workers, Get waits",
			func(workers int) pool.Config[[]byte] {
				return pool.Config[[]byte]{Kind: pool.Bounded, Limit: workers}
			}},
	} {
		Register(&Kind{
			Name:    k.name,
			Summary: k.summary,
			New: func(size, workers int) (Strategy, error) {
				config := k.config(workers)
				config.New = func() *[]byte {
					b := make([]byte, size)
					return &b
				}
				return objectPool{pool.New(config)}, nil
			},
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
