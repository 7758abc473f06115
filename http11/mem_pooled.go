package http11

import "github.com/isobar-go/isobar/pool"

// pooled is the source of mode Pooled: byte buffers in size classes.
type pooled struct {
	buffers *pool.Bytes
}

func newPooled() *pooled { return &pooled{buffers: pool.NewBytes()} }

func (p *pooled) get(n int) block {
	b := p.buffers.Get(n)
	return block{mem: b[:cap(b)]}
}

func (p *pooled) put(b block) { p.buffers.Put(b.mem) }

func (p *pooled) warm(n int) {}

func (p *pooled) close() {}

func (p *pooled) stats(*MemoryStats) {}
