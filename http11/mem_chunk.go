package http11

import (
	"slices"
	"sync"
	"sync/atomic"

	blocks "github.com/isobar-go/isobar/internal/base/block"
)

// A chunk is memory that Slab and Arena cut blocks from. It holds no pointers.
type chunk struct {
	mem []byte

	// used counts holders in the upper half and bytes in use in the lower. The
	// holders of a chunk are its blocks in use and, for an arena, the shard that
	// cuts from it. The last decrement publishes to the chunk's next user that
	// nobody writes to it any longer.
	used atomic.Int64

	// The rest is for Slab, guarded by the class's mutex.
	class *slabClass
	free  uint64 // bit i: block i is free
	index int    // in class.partial, or -1
}

const oneHolder = 1 << 32

func (c *chunk) take(bytes int) { c.used.Add(oneHolder + int64(bytes)) }

// drop releases a hold of that many bytes and returns how many holders remain.
func (c *chunk) drop(bytes int) int64 { return c.used.Add(-oneHolder-int64(bytes)) >> 32 }

// chunks creates chunks and keeps idle ones.
type chunks struct {
	size int // of a chunk

	mu    sync.Mutex
	from  blocks.Source       // guarded by mu
	all   map[*chunk]struct{} // guarded by mu
	idle  []*chunk            // guarded by mu
	keep  int                 // how many idle chunks to keep; guarded by mu
	floor int                 // how many trim keeps, raised by Warm; guarded by mu
	least int                 // fewest idle since the last trim; guarded by mu
	made  uint64              // guarded by mu
	freed uint64              // guarded by mu
}

func (s *chunks) init(c Memory) {
	s.from = blocks.NewSource(blocks.Config{
		LimitBytes: c.LimitBytes, OnHeap: !c.OffHeap, Purpose: "http11", KeepAddresses: true,
	})
	s.size = s.from.Round(c.ChunkBytes)
	s.keep = int(c.IdleBytes / int64(s.size))
	s.all = make(map[*chunk]struct{})
}

// get returns a chunk without holders and whether it is new; nil if none is
// idle and the limit or the operating system refuses another.
func (s *chunks) get() (c *chunk, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle) - 1; n >= 0 {
		c, s.idle = s.idle[n], s.idle[:n]
		s.least = min(s.least, n)
		return c, false
	}
	return s.make(), true
}

// make creates a chunk, or returns nil. mu is held.
func (s *chunks) make() *chunk {
	mem, err := s.from.Take(s.size)
	if err != nil {
		return nil // the pools take over
	}
	c := &chunk{mem: mem, index: -1}
	s.all[c] = struct{}{}
	s.made++
	return c
}

// put takes back a chunk without holders.
func (s *chunks) put(c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) < s.keep {
		s.idle = append(s.idle, c)
		return
	}
	s.release(c)
}

// release gives back a chunk's memory. Its addresses stay readable: a reader
// still copying from an ended request does not fault; it reads other bytes and
// then finds its epoch gone. mu is held.
func (s *chunks) release(c *chunk) {
	delete(s.all, c)
	s.freed++
	s.from.Give(c.mem)
	c.mem = nil
}

// trim releases the chunks that have been idle since the last trim.
func (s *chunks) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := max(0, min(s.least, len(s.idle)-s.floor))
	for _, c := range s.idle[:n] { // the oldest
		s.release(c)
	}
	s.idle = slices.Delete(s.idle, 0, n)
	s.least = len(s.idle)
}

// warm ensures that n chunks are idle, as far as the limit allows.
func (s *chunks) warm(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep, s.floor = max(s.keep, n), max(s.floor, n)
	for len(s.idle) < n {
		c := s.make()
		if c == nil {
			return
		}
		s.idle = append(s.idle, c)
	}
}

func (s *chunks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		s.release(c)
	}
	s.idle, s.keep, s.floor = nil, 0, 0
}

// addTo adds the figures of the chunks. shards are the chunks with a holder
// that is not a block.
func (s *chunks) addTo(out *MemoryStats, shards map[*chunk]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.ChunksMade += s.made
	out.ChunksFreed += s.freed
	out.HeldBytes += s.from.Bytes()
	for c := range s.all {
		used := c.used.Load()
		out.InUse += used >> 32
		if shards[c] {
			out.InUse--
		}
		out.InUseBytes += used & (oneHolder - 1)
	}
}
