package http11

import (
	"runtime"
	"sync"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// Arena cuts blocks consecutively from chunks that several requests share. A
// chunk is reused once all requests with memory in it have ended. The cost of
// releasing memory does not depend on its size.
const Arena MemoryMode = 2

func init() {
	register(Arena, mode{
		ModeInfo: ModeInfo{Name: "arena", Summary: "blocks cut from chunks that requests share", OffHeap: true},
		source:   func(c Memory) source { return newArenas(c) },
		keep:     keepNone,
	})
}

// arenas is the source of mode Arena: each shard cuts consecutive blocks from
// its current chunk. Returning a block is one atomic operation.
type arenas struct {
	chunks
	pooled *pooled // larger blocks, and those over the limit
	shards []arenaShard
}

// An arenaShard serves the goroutines on one P. This affects speed, not
// correctness.
type arenaShard struct {
	mu           sync.Mutex
	cur          *chunk   // held by the shard; guarded by mu
	off          int      // used bytes of cur; guarded by mu
	hits, misses uint64   // guarded by mu
	_            [64]byte // keeps shards on separate cache lines
}

func newArenas(c Memory) *arenas {
	a := &arenas{pooled: newPooled(c), shards: make([]arenaShard, runtime.GOMAXPROCS(0))}
	a.init(c)
	return a
}

func (a *arenas) get(n int) block {
	if n > a.size/2 {
		return a.getWhole(n)
	}
	pid := procpin.Pin()
	procpin.Unpin()
	s := &a.shards[pid%len(a.shards)]
	s.mu.Lock()
	c := s.cur
	if c != nil && c.used.Load()>>32 == 1 {
		s.off = 0 // only the shard holds it
	}
	if c == nil || n > len(c.mem)-s.off {
		if c = a.next(s); c == nil {
			s.mu.Unlock()
			return a.pooled.get(n)
		}
	} else {
		s.hits++
	}
	b := c.mem[s.off : s.off+n : s.off+n]
	s.off += n
	c.take(n)
	s.mu.Unlock()
	return block{mem: b, home: c}
}

// next gives s another chunk, or returns nil. s.mu is held.
func (a *arenas) next(s *arenaShard) *chunk {
	c, fresh := a.chunks.get()
	if c == nil {
		return nil
	}
	if fresh {
		s.misses++
	} else {
		s.hits++
	}
	c.take(0)
	old := s.cur
	s.cur, s.off = c, 0
	if old != nil && old.drop(0) == 0 {
		a.chunks.put(old)
	}
	return c
}

// getWhole returns a block with a chunk of its own, or a pooled one.
func (a *arenas) getWhole(n int) block {
	if n > a.size {
		return a.pooled.get(n)
	}
	c, fresh := a.chunks.get()
	if c == nil {
		return a.pooled.get(n)
	}
	s := &a.shards[0]
	s.mu.Lock()
	if fresh {
		s.misses++
	} else {
		s.hits++
	}
	s.mu.Unlock()
	c.take(a.size)
	return block{mem: c.mem, home: c}
}

func (a *arenas) put(b block) {
	c := b.home
	if c == nil {
		a.pooled.put(b)
	} else if c.drop(len(b.mem)) == 0 {
		a.chunks.put(c)
	}
}

func (a *arenas) warm(n int) {
	blocks := a.size / a.pooled.first
	a.chunks.warm((n + blocks - 1) / blocks)
}

func (a *arenas) close() {
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		if c := s.cur; c != nil {
			s.cur = nil
			if c.drop(0) == 0 {
				a.chunks.put(c)
			}
		}
		s.mu.Unlock()
	}
	a.chunks.close()
}

func (a *arenas) addTo(out *MemoryStats) {
	held := make(map[*chunk]bool)
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		out.Hits += s.hits
		out.Misses += s.misses
		held[s.cur] = true
		s.mu.Unlock()
	}
	a.chunks.addTo(out, held)
	large := MemoryStats{}
	a.pooled.addTo(&large)
	out.addLarge(large)
}
