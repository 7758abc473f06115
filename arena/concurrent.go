package arena

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/procpin"
)

// pieceBytes is how much of a chunk a processor takes at a time. Allocations
// above a quarter of it come from the chunk itself, so at most a quarter of a
// piece is wasted.
const pieceBytes = 16 << 10

// A Concurrent is an arena for several goroutines at once. Make one with
// [OpenConcurrent]; it must not be copied.
//
// Each processor takes a piece of a chunk under a lock and then allocates from
// it without one. Reset and Release free for all goroutines: every allocation,
// and every use of allocated memory, must happen before them.
type Concurrent struct {
	shards []shard // shards[i] is owned by whoever is pinned to processor i

	mu  sync.Mutex
	src *Arena // guarded by mu
}

// A shard is one processor's piece. The padding keeps two shards off one pair
// of cache lines; see BenchmarkConcurrent.
type shard struct {
	bump
	_ [128 - unsafe.Sizeof(bump{})]byte
}

// OpenConcurrent returns an empty arena for several goroutines. The error names
// the configuration field that is out of range.
func OpenConcurrent(config Config) (*Concurrent, error) {
	src, err := Open(config)
	if err != nil {
		return nil, err
	}
	return &Concurrent{shards: make([]shard, max(runtime.GOMAXPROCS(0), runtime.NumCPU())), src: src}, nil
}

func (c *Concurrent) alloc(size uintptr) unsafe.Pointer {
	// The race detector reports two goroutines that run pinned to one processor in
	// turn as a race. Checking builds lock instead.
	if invariant.Enabled {
		return c.allocLocked(size)
	}
	_ = c.shards // not while pinned, where the panic of a nil Concurrent would end the process
	i := procpin.Pin()
	if i >= len(c.shards) { // GOMAXPROCS was raised; a piece would be lost
		procpin.Unpin()
		return c.allocLocked(size)
	}
	p := c.shards[i].take(size)
	procpin.Unpin()
	if p == nil {
		p = c.allocSlowly(size)
	}
	return p
}

func (c *Concurrent) allocLocked(size uintptr) unsafe.Pointer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.src.alloc(size)
}

// allocSlowly allocates from a new piece. The rest of it becomes the piece of
// the current processor if that has less left.
func (c *Concurrent) allocSlowly(size uintptr) unsafe.Pointer {
	if size > pieceBytes/4 {
		return c.allocLocked(size)
	}
	piece := c.piece(size)
	p := piece.take(size)
	if i := procpin.Pin(); i < len(c.shards) {
		if s := &c.shards[i]; s.end-s.off < piece.end-piece.off {
			s.bump = piece
		}
	}
	procpin.Unpin()
	return p
}

// piece returns a new piece or, near the limit, one of only size bytes.
func (c *Concurrent) piece(size uintptr) bump {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.src.Reserve(pieceBytes) == nil {
		size = pieceBytes
	}
	return bump{base: c.src.alloc(size), end: size}
}

// extend always refuses: the memory behind an allocation may belong to another
// processor.
func (c *Concurrent) extend(unsafe.Pointer, uintptr, uintptr) bool { return false }

// Bytes returns n zero bytes with no spare capacity.
func (c *Concurrent) Bytes(n int) []byte {
	b := makeSlice[byte](c, "Bytes", n)
	clear(b)
	return b
}

// CopyString copies s into the arena.
func (c *Concurrent) CopyString(s string) string {
	b := makeSlice[byte](c, "CopyString", len(s))
	copy(b, s)
	return stringOver(b)
}

// Reset frees all allocations and keeps the memory.
func (c *Concurrent) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.shards)
	c.src.Reset()
}

// Release gives all memory back. Later calls panic as those of an [Arena] do.
func (c *Concurrent) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.shards)
	c.src.Release()
}

// Stats returns the current sizes. UsedBytes counts whole pieces.
func (c *Concurrent) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.src.Stats()
}
