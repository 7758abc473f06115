package http11

import (
	"fmt"

	"github.com/isobar-go/isobar/pool"
)

// A MemoryMode says where request memory comes from and when it goes back.
type MemoryMode uint8

const (
	// Pooled takes blocks from a pool when a request begins and gives them
	// back before the connection waits for the next one.
	Pooled MemoryMode = iota
	// Slab gives each connection that has requests one block, cut from slabs,
	// and uses it again for every request. It is given back when the
	// connection idles.
	Slab
	// Arena cuts blocks from chunks that several requests share. A chunk is
	// used again when all requests that have memory of it have ended; giving
	// memory back does not depend on how much there is of it.
	Arena
)

func (m MemoryMode) String() string {
	switch m {
	case Pooled:
		return "pooled"
	case Slab:
		return "slab"
	case Arena:
		return "arena"
	}
	return fmt.Sprintf("MemoryMode(%d)", uint8(m))
}

// Memory configures request memory: what heads and bodies are read into, and
// what handlers allocate for the time of a request. The zero value is ready for
// use.
type Memory struct {
	Mode MemoryMode
	// OffHeap maps slabs and chunks from the operating system. The garbage
	// collector neither sees nor counts them. Pooled memory is always on the
	// heap.
	OffHeap bool
	// BlockBytes is the size of a request's first block, 4 KiB by default.
	// What needs more gets larger ones.
	BlockBytes int
	// ChunkBytes is the size of what slabs and arenas are cut from, 64 KiB by
	// default.
	ChunkBytes int
	// LimitBytes bounds the chunks together; beyond it blocks come from the Go
	// heap and go back to it. 0 is no bound.
	LimitBytes int64
}

const (
	defaultBlockBytes = 4 << 10
	minBlockBytes     = 512
	maxBlockBytes     = 64 << 10
	defaultChunkBytes = 64 << 10
	maxChunkBytes     = 16 << 20
)

// A block is memory that regions are made of. Its length is a multiple of 8.
type block struct {
	mem  []byte
	home *page // what it was cut from; nil if it was not
}

// A source hands out blocks. It is safe for use by several goroutines.
type source interface {
	get(n int) block // at least n bytes, of unspecified contents
	put(block)
	stats(*MemoryStats)
	warm(n int) // makes sure that n blocks of BlockBytes can be had
	close()
}

// memory makes regions. It is safe for use by several goroutines.
type memory struct {
	config  Memory
	source  source
	regions *pool.Pool[region]
	keep    keeping
}

// newMemory checks the configuration and gives its zero fields their defaults.
func newMemory(config Memory) (*memory, error) {
	if config.BlockBytes == 0 {
		config.BlockBytes = defaultBlockBytes
	}
	if config.ChunkBytes == 0 {
		config.ChunkBytes = max(defaultChunkBytes, config.BlockBytes)
	}
	bad := func(format string, args ...any) (*memory, error) {
		return nil, fmt.Errorf("http11: Memory: "+format, args...)
	}
	switch {
	case config.BlockBytes < minBlockBytes || config.BlockBytes > maxBlockBytes || config.BlockBytes%8 != 0:
		return bad("BlockBytes is %d; want a multiple of 8 from %d to %d, or 0 for %d", config.BlockBytes, minBlockBytes, maxBlockBytes, defaultBlockBytes)
	case config.ChunkBytes < config.BlockBytes || config.ChunkBytes > maxChunkBytes:
		return bad("ChunkBytes is %d; want BlockBytes, %d, to %d, or 0 for %d", config.ChunkBytes, config.BlockBytes, maxChunkBytes, defaultChunkBytes)
	case config.LimitBytes < 0:
		return bad("LimitBytes is %d; want 0 for no limit, or more", config.LimitBytes)
	case config.Mode == Pooled && config.OffHeap:
		return bad("OffHeap with mode Pooled, whose blocks are always on the heap; choose Slab or Arena")
	}
	m := &memory{config: config}
	switch config.Mode {
	case Pooled:
		m.source, m.keep = newPooled(), keepFirst
	default:
		return bad("Mode is %v; want Pooled, Slab or Arena", config.Mode)
	}
	m.regions = pool.New(pool.Config[region]{New: m.newRegion})
	return m, nil
}

// acquire returns an empty region. Its first block is acquired when something
// is allocated.
func (m *memory) acquire() *region {
	r := m.regions.Get()
	r.refs.Store(1)
	return r
}

// Warm makes sure that n requests find memory without making any.
func (m *memory) Warm(n int) {
	m.source.warm(n)
	m.regions.Warm(n)
}

// close gives back what is not in use. Regions must have been released.
func (m *memory) close() { m.source.close() }

// A page is what blocks are cut from.
type page struct{}

// MemoryStats are the figures of a server's request memory.
type MemoryStats struct{}
