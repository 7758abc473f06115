package http11

import (
	"fmt"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/pool"
)

// Memory configures request memory: what heads and bodies are read into, and
// what handlers allocate for the time of a request. The zero value is ready for
// use.
type Memory struct {
	Mode MemoryMode
	// OffHeap maps chunks from the operating system; the garbage collector
	// neither sees nor counts them. It is for modes whose Info says so: the
	// blocks of Pooled are always on the heap. Memory that goes back leaves its
	// addresses reserved for the next chunks of that size, of any server: the
	// process keeps as much address space, and 1/512 of it as page tables, as
	// chunks took at their peak.
	OffHeap bool
	// BlockBytes is the size of a request's first block, a power of two, 4 KiB
	// by default. What needs more gets larger ones.
	BlockBytes int
	// ChunkBytes is the size of the chunks of Slab and Arena, a power of two,
	// 64 KiB by default. Larger blocks come from pools on the Go heap.
	ChunkBytes int
	// LimitBytes bounds the chunks together; beyond it blocks come from pools
	// on the Go heap as well. 0 is no bound.
	LimitBytes int64
	// IdleBytes bounds the chunks that are kept though no request has memory
	// of them, 16 MiB by default. Warm raises it to what it makes. While a
	// server serves, those that were not needed for a second or two go back,
	// except what Warm has made.
	IdleBytes int64
}

const (
	defaultBlockBytes = 4 << 10
	minBlockBytes     = 512
	maxBlockBytes     = 64 << 10 // of blocks that grow for the next allocation
	defaultChunkBytes = 64 << 10
	maxChunkBytes     = 1 << 20
	maxChunkBlocks    = 64 // blocks of BlockBytes in a chunk
	defaultIdleBytes  = 16 << 20
	maxWarm           = 1 << 20
)

// withDefaults checks the configuration and fills in its zero fields.
func (c Memory) withDefaults() (Memory, error) {
	if c.BlockBytes == 0 {
		c.BlockBytes = defaultBlockBytes
	}
	if c.ChunkBytes == 0 {
		c.ChunkBytes = min(max(defaultChunkBytes, c.BlockBytes), c.BlockBytes*maxChunkBlocks)
	}
	if c.IdleBytes == 0 {
		c.IdleBytes = defaultIdleBytes
	}
	mostChunk := min(maxChunkBytes, c.BlockBytes*maxChunkBlocks)
	bad := func(format string, args ...any) (Memory, error) {
		return Memory{}, fmt.Errorf("http11: Memory: "+format, args...)
	}
	switch {
	case registry[c.Mode] == nil:
		return bad("Mode is %v; want %s", c.Mode, modeNames())
	case c.BlockBytes < minBlockBytes || c.BlockBytes > maxBlockBytes || c.BlockBytes&(c.BlockBytes-1) != 0:
		return bad("BlockBytes is %d; want a power of two from %d to %d, or 0 for %d",
			c.BlockBytes, minBlockBytes, maxBlockBytes, defaultBlockBytes)
	case c.ChunkBytes < c.BlockBytes || c.ChunkBytes > mostChunk || c.ChunkBytes&(c.ChunkBytes-1) != 0:
		return bad("ChunkBytes is %d; want a power of two from BlockBytes, %d, to %d, or 0 for %d",
			c.ChunkBytes, c.BlockBytes, mostChunk, defaultChunkBytes)
	case c.LimitBytes < 0:
		return bad("LimitBytes is %d; want 0 for no limit, or more", c.LimitBytes)
	case c.IdleBytes < 0:
		return bad("IdleBytes is %d; want 0 for %d, or more", c.IdleBytes, defaultIdleBytes)
	case c.OffHeap && !c.Mode.Info().OffHeap:
		return bad("OffHeap with mode %v, whose blocks are always on the heap; choose another mode", c.Mode)
	}
	return c, nil
}

// A block is memory that regions are made of. Its length is a multiple of 8.
type block struct {
	mem  []byte
	home *chunk // what it was cut from; nil for a pooled one
}

// A source hands out blocks: what a memory mode is. It is safe for use by
// several goroutines.
type source interface {
	// get returns at least n bytes, of unspecified contents.
	get(n int) block
	// put takes back what get returned.
	put(block)
	// warm makes sure that n blocks of BlockBytes are at hand.
	warm(n int)
	// trim gives back what was not needed since the last trim.
	trim()
	addTo(*MemoryStats)
	// close gives back what is not in use.
	close()
}

// memory makes regions. It is safe for use by several goroutines.
type memory struct {
	config  Memory // complete
	source  source
	regions *pool.Pool[slot]
	keep    keeping
	late    atomic.Uint64 // uses of requests that had ended; publishes nothing
}

func newMemory(config Memory) (*memory, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	mode := registry[config.Mode]
	m := &memory{config: config, source: mode.source(config), keep: mode.keep}
	if invariant.Enabled {
		m.source, m.keep = newQuarantine(m.source, config), keepNone
	}
	m.regions = pool.New(pool.Config[slot]{New: m.newRegion})
	return m, nil
}

// acquire returns an empty region, and the turn. Its first block is acquired
// with the first allocation.
func (m *memory) acquire() *region {
	r := m.regions.Get().r
	r.refs.Store(1)
	if invariant.Enabled {
		places.began(r)
	}
	return r
}

// warm makes sure that n requests at a time find their memory at hand.
func (m *memory) warm(n int) {
	if n < 0 || n > maxWarm {
		panic(fmt.Sprintf("http11: Warm: %d requests; want 0 to %d", n, maxWarm))
	}
	m.source.warm(n)
	m.regions.Warm(n)
}

// close gives back what is not in use. Regions should have been released.
func (m *memory) close() { m.source.close() }
