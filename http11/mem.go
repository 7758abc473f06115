package http11

import (
	"fmt"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/pool"
)

// Memory configures request memory: the memory that heads and bodies are read
// into, and that handlers allocate for the duration of a request. The zero
// value is ready for use.
type Memory struct {
	Mode MemoryMode
	// OffHeap maps chunks from the operating system; the garbage collector neither
	// scans nor counts them. Only modes whose Info allows it support OffHeap:
	// blocks of Pooled are always on the heap. Released memory keeps its addresses
	// reserved for the next chunks of that size, of any server. So the process
	// keeps as much address space as chunks took at their peak, and 1/512 of that
	// as page tables.
	OffHeap bool
	// BlockBytes is the size of a request's first block, a power of two, 4 KiB by
	// default. Requests that need more get larger blocks.
	BlockBytes int
	// ChunkBytes is the size of the chunks of Slab and Arena, a power of two, 64
	// KiB by default. Larger blocks come from pools on the Go heap.
	ChunkBytes int
	// LimitBytes bounds all chunks together; beyond it blocks come from pools on
	// the Go heap too. 0 is no bound.
	LimitBytes int64
	// IdleBytes bounds the chunks kept while no request uses them, 16 MiB by
	// default. Warm raises it to what it allocates. While a server serves, chunks
	// unused for a second or two are released, except those from Warm.
	IdleBytes int64
}

const (
	defaultBlockBytes = 4 << 10
	minBlockBytes     = 512
	maxBlockBytes     = 64 << 10 // the largest size reached by doubling
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

// A block is a unit of memory that regions consist of. Its length is a multiple
// of 8.
type block struct {
	mem  []byte
	home *chunk // the chunk it was cut from; nil if pooled
}

// A source hands out blocks and implements a memory mode. It is safe for use by
// several goroutines.
type source interface {
	// get returns at least n bytes with unspecified contents.
	get(n int) block
	// put takes back a block from get.
	put(block)
	// warm ensures that n blocks of BlockBytes are ready.
	warm(n int)
	// trim releases memory that was unused since the last trim.
	trim()
	addTo(*MemoryStats)
	// close releases unused memory.
	close()
}

// memory creates regions. It is safe for use by several goroutines.
type memory struct {
	config  Memory // with defaults filled in
	source  source
	regions *pool.Pool[slot]
	keep    keeping
	late    atomic.Uint64 // uses of ended requests; publishes nothing
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

// acquire returns an empty region, with the turn. The first allocation acquires
// its first block.
func (m *memory) acquire() *region {
	r := m.regions.Get().r
	r.refs.Store(1)
	if invariant.Enabled {
		places.began(r)
	}
	return r
}

// warm ensures that memory for n concurrent requests is ready.
func (m *memory) warm(n int) {
	if n < 0 || n > maxWarm {
		panic(fmt.Sprintf("http11: Warm: %d requests; want 0 to %d", n, maxWarm))
	}
	m.source.warm(n)
	m.regions.Warm(n)
}

// close releases unused memory. All regions should have been released before.
func (m *memory) close() { m.source.close() }
