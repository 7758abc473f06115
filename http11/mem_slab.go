package http11

import (
	"math/bits"
	"sync"
)

// Slab gives each connection with requests one block, cut from chunks of blocks
// of that size, and reuses it for every request. The block is returned when the
// connection idles.
const Slab MemoryMode = 1

func init() {
	register(Slab, mode{
		ModeInfo: ModeInfo{Name: "slab", Summary: "a block for each connection, cut from chunks", OffHeap: true, Keeps: true},
		source:   func(c Memory) source { return newSlabs(c) },
		keep:     keepLast,
	})
}

// slabs is the source of mode Slab: chunks cut into blocks of one size each.
type slabs struct {
	chunks
	pooled  *pooled // larger blocks, and those over the limit
	first   int     // log2 of the smallest block
	classes []slabClass
}

// A slabClass has the blocks of one size.
type slabClass struct {
	size  int
	whole uint64 // chunk.free if no block is in use

	mu           sync.Mutex
	partial      []*chunk // chunks with free blocks; guarded by mu
	hits, misses uint64   // guarded by mu
	instead      uint64   // blocks that pooled served; guarded by mu
	_            [64]byte // keeps classes on separate cache lines
}

func newSlabs(c Memory) *slabs {
	s := &slabs{pooled: newPooled(c), first: bits.Len(uint(c.BlockBytes)) - 1}
	s.init(c)
	s.classes = make([]slabClass, bits.Len(uint(c.ChunkBytes/c.BlockBytes)))
	for i := range s.classes {
		k := &s.classes[i]
		k.size = c.BlockBytes << i
		k.whole = ^uint64(0) >> (64 - c.ChunkBytes/k.size)
	}
	return s
}

// classFor returns the class of blocks of at least n bytes, or nil.
func (s *slabs) classFor(n int) *slabClass {
	i := max(0, bits.Len(uint(n-1))-s.first)
	if i >= len(s.classes) {
		return nil
	}
	return &s.classes[i]
}

func (s *slabs) get(n int) block {
	k := s.classFor(n)
	if k == nil {
		return s.pooled.get(n)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var c *chunk
	if last := len(k.partial) - 1; last >= 0 {
		c = k.partial[last]
		k.hits++
	} else {
		var fresh bool
		if c, fresh = s.chunks.get(); c == nil {
			k.instead++
			return s.pooled.get(n)
		}
		c.class, c.free = k, k.whole
		k.add(c)
		if fresh {
			k.misses++
		} else {
			k.hits++
		}
	}
	i := bits.TrailingZeros64(c.free)
	if c.free &= c.free - 1; c.free == 0 {
		k.remove(c)
	}
	c.take(k.size)
	return block{mem: c.mem[i*k.size : (i+1)*k.size : (i+1)*k.size], home: c}
}

func (s *slabs) put(b block) {
	c := b.home
	if c == nil {
		s.pooled.put(b)
		return
	}
	k := c.class
	k.mu.Lock()
	defer k.mu.Unlock()
	c.drop(k.size)
	if c.free == 0 {
		k.add(c)
	}
	c.free |= 1 << (offset(c.mem, b.mem) / k.size)
	// Keep one chunk, so that the class does not get and return a chunk for every
	// block.
	if c.free == k.whole && len(k.partial) > 1 {
		k.remove(c)
		s.chunks.put(c)
	}
}

func (k *slabClass) add(c *chunk) {
	c.index = len(k.partial)
	k.partial = append(k.partial, c)
}

func (k *slabClass) remove(c *chunk) {
	last := len(k.partial) - 1
	moved := k.partial[last]
	k.partial[c.index], moved.index = moved, c.index
	k.partial[last], c.index = nil, -1
	k.partial = k.partial[:last]
}

func (s *slabs) warm(n int) {
	blocks := s.size / s.classes[0].size
	s.chunks.warm((n + blocks - 1) / blocks)
}

func (s *slabs) close() {
	for i := range s.classes {
		k := &s.classes[i]
		k.mu.Lock()
		for j := len(k.partial) - 1; j >= 0; j-- {
			if c := k.partial[j]; c.free == k.whole {
				k.remove(c)
				s.chunks.put(c)
			}
		}
		k.mu.Unlock()
	}
	s.chunks.close()
}

func (s *slabs) addTo(out *MemoryStats) {
	for i := range s.classes {
		k := &s.classes[i]
		k.mu.Lock()
		out.Hits += k.hits
		out.Misses += k.misses
		out.Pooled += k.instead
		k.mu.Unlock()
	}
	s.chunks.addTo(out, nil)
	large := MemoryStats{}
	s.pooled.addTo(&large)
	out.addLarge(large)
}

// addLarge adds the figures of the pools behind Slab and Arena.
func (s *MemoryStats) addLarge(large MemoryStats) {
	s.Hits += large.Hits
	s.Misses += large.Misses
	s.InUse += large.InUse
	s.InUseBytes += large.InUseBytes
	s.HeldBytes += large.HeldBytes
	s.Pooled = large.Hits + large.Misses
}
