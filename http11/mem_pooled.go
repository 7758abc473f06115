package http11

import (
	"sync/atomic"

	"github.com/isobar-go/isobar/pool"
)

// Pooled takes blocks from size-classed pools on the Go heap when a request
// begins, and returns them before the connection waits for the next one. With
// Goroutines, a connection with many requests a second returns them once it has
// been idle for a second or two.
const Pooled MemoryMode = 0

func init() {
	register(Pooled, mode{
		ModeInfo: ModeInfo{Name: "pooled", Summary: "blocks from pools on the Go heap, for each request"},
		source:   func(c Memory) source { return newPooled(c) },
		keep:     keepFirst,
	})
}

// pooled is the source of mode Pooled, and of blocks that the other modes do
// not cut from chunks: byte buffers in size classes.
type pooled struct {
	buffers *pool.Bytes
	first   int // size of the smallest block
	// large counts blocks in use above first; largeBytes their bytes.
	large, largeBytes atomic.Int64
}

func newPooled(c Memory) *pooled {
	return &pooled{buffers: pool.NewBytes(), first: c.BlockBytes}
}

func (p *pooled) get(n int) block {
	b := p.buffers.Get(max(n, p.first))
	b = b[:cap(b)]
	if len(b) > p.first {
		p.large.Add(1)
		p.largeBytes.Add(int64(len(b)))
	}
	return block{mem: b}
}

func (p *pooled) put(b block) {
	if len(b.mem) > p.first {
		p.large.Add(-1)
		p.largeBytes.Add(-int64(len(b.mem)))
	}
	p.buffers.Put(b.mem)
}

func (p *pooled) warm(n int) { p.buffers.Warm(p.first, n) }

// trim does nothing: the collector empties the pools.
func (p *pooled) trim() {}

func (p *pooled) close() {}

func (p *pooled) addTo(s *MemoryStats) {
	b := p.buffers.Stats()
	large, largeBytes := p.large.Load(), p.largeBytes.Load()
	s.Hits += b.Hits
	s.Misses += b.Misses + b.Oversize
	inUse := max(b.InUse, large) // pool does not count oversize buffers in use
	s.InUse += inUse
	bytes := max(0, b.InUse-large)*int64(p.first) + largeBytes
	s.InUseBytes += bytes
	s.HeldBytes += bytes + b.IdleBytes
}
