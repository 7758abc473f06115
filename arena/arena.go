package arena

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/block"
	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/offheap"
)

const (
	defaultChunkBytes = 64 << 10
	minChunkBytes     = 4 << 10
	// maxChunkBytes stops the growth of chunks. An allocation that needs more gets
	// a larger chunk, which Reset gives back.
	maxChunkBytes = 16 << 20
	// maxAllocBytes bounds one allocation. A larger size is taken for a mistake.
	maxAllocBytes = min(1<<40, math.MaxInt/4)
	// alignBytes is the alignment of every allocation, enough for any Go type,
	// including 64-bit atomics on 32-bit platforms.
	alignBytes = 8
)

// ErrLimit reports an allocation that does not fit within LimitBytes.
var ErrLimit = block.ErrLimit

// A Config says where an [Arena] gets its memory. The zero Config is ready to
// use.
type Config struct {
	// ChunkBytes is the size of the first chunk: 64 KiB by default, at least 4
	// KiB. Each later chunk is as large as all earlier ones together, up to 16 MiB
	// or ChunkBytes, and no larger than LimitBytes leaves.
	ChunkBytes int
	// LimitBytes bounds the total size of the chunks; 0 means no bound.
	LimitBytes int
	// OnHeap takes chunks from the Go heap, as byte slices that the garbage
	// collector counts but does not scan. Without it, chunks are mapped from the
	// operating system.
	OnHeap bool
	// HugePages maps whole huge pages and asks the system for them. It rounds
	// chunks up to 2 MiB and has no effect with OnHeap.
	HugePages bool
	// Purpose is the name under which [OffHeapBytes] counts the mapped bytes;
	// "arena" by default.
	Purpose string
}

// An Arena allocates bytes and pointer-free values. Make one with [Open]. It
// must not be copied and is for one goroutine at a time.
//
// An off-heap arena that is dropped without [Arena.Release] keeps its memory,
// because pointers into it may remain.
type Arena struct {
	_    [0]sync.Mutex // has go vet report copies
	bump               // the free part of the current chunk, chunks[cur]

	chunks   []chunk
	cur      int
	filled   int // bytes handed out from chunks before cur
	oversize int // chunks above maxChunk
	maxChunk int
	gen      uint64 // round; a Mark of another round is stale
	released bool
	config   Config
	source   block.Source    // of the chunks
	freed    invariant.Event // in checking builds: the last Reset or Rewind
}

// A chunk is memory from which an Arena allocates.
type chunk struct {
	mem []byte
	// high is, in checking builds, how much of mem has ever been handed out; the free part
	// of that holds poison.
	high uintptr
}

// Open returns an empty arena. It maps nothing yet. The error names the
// configuration field that is out of range.
func Open(config Config) (*Arena, error) {
	if config.ChunkBytes == 0 {
		config.ChunkBytes = defaultChunkBytes
	}
	if err := checkChunk("Open", config.ChunkBytes, config.LimitBytes); err != nil {
		return nil, err
	}
	if config.Purpose == "" {
		config.Purpose = "arena"
	}
	source := block.NewSource(block.Config{
		LimitBytes: int64(config.LimitBytes), OnHeap: config.OnHeap, HugePages: config.HugePages, Purpose: config.Purpose,
	})
	return &Arena{config: config, source: source, maxChunk: max(config.ChunkBytes, maxChunkBytes)}, nil
}

func checkChunk(op string, chunkBytes, limitBytes int) error {
	switch {
	case chunkBytes < minChunkBytes || chunkBytes > maxAllocBytes:
		return fmt.Errorf("arena: %s: ChunkBytes is %d; want %d to %d, or 0 for the default", op, chunkBytes, minChunkBytes,
			maxAllocBytes)
	case limitBytes < 0 || limitBytes > 0 && limitBytes < chunkBytes:
		return fmt.Errorf("arena: %s: LimitBytes is %d; want at least ChunkBytes, %d, or 0 for no limit", op, limitBytes,
			chunkBytes)
	}
	return nil
}

// alloc returns size bytes, aligned to 8, with unspecified contents. size is a
// positive multiple of 8.
func (a *Arena) alloc(size uintptr) unsafe.Pointer {
	if invariant.Enabled {
		a.check(size)
	}
	if p := a.take(size); p != nil {
		return p
	}
	a.mustAdvance(size)
	return a.take(size)
}

// extend is that of bump. Checking builds look at what it adds.
func (a *Arena) extend(p unsafe.Pointer, old, size uintptr) bool {
	from := a.off
	if !a.bump.extend(p, old, size) {
		return false
	}
	if invariant.Enabled {
		a.handOut(from, a.off)
	}
	return true
}

func (a *Arena) mustAdvance(size uintptr) {
	if err := a.advance(size); err != nil {
		panic(fmt.Errorf("arena: allocation of %d bytes: %w; call Reserve to check beforehand", size, err))
	}
}

// advance moves to a chunk with at least size free bytes: the next one, or a
// new one inserted before it.
func (a *Arena) advance(size uintptr) error {
	if a.released {
		panic("arena: allocation after Release; open a new arena")
	}
	next := 0
	if len(a.chunks) > 0 {
		next = a.cur + 1
	}
	if next == len(a.chunks) || uintptr(len(a.chunks[next].mem)) < size {
		mem, err := a.newChunk(int(size))
		if err != nil {
			return err
		}
		a.chunks = slices.Insert(a.chunks, next, chunk{mem: mem})
	}
	if next > 0 {
		a.filled += int(a.off)
	}
	a.enter(next, 0)
	return nil
}

func (a *Arena) newChunk(size int) ([]byte, error) {
	mem, err := a.source.Take(a.source.Next(size, a.config.ChunkBytes, a.maxChunk))
	if len(mem) > a.maxChunk {
		a.oversize++
	}
	return mem, err
}

// enter makes chunk i current, with off bytes of it handed out.
func (a *Arena) enter(i int, off uintptr) {
	a.cur, a.bump = i, bumpOver(a.chunks[i].mem, off)
}

// Reserve makes sure that allocations totalling n bytes, each rounded up to 8,
// need no further chunk. The error wraps [ErrLimit] or is that of the operating
// system; on error the arena is unchanged.
func (a *Arena) Reserve(n int) error {
	checkSize("Reserve", n)
	if uintptr(n) <= a.end-a.off && !a.released {
		return nil
	}
	if err := a.advance(uintptr(n)); err != nil {
		return fmt.Errorf("arena: Reserve(%d): %w", n, err)
	}
	return nil
}

// Reset frees all allocations and keeps the memory. It takes constant time, but first
// returns chunks above 16 MiB.
func (a *Arena) Reset() {
	a.mustBeOpen("Reset")
	a.gen++
	if invariant.Enabled {
		a.freed = invariant.Here()
		a.poisonAll()
	}
	if a.oversize > 0 {
		a.chunks = slices.DeleteFunc(a.chunks, func(c chunk) bool {
			if len(c.mem) <= a.maxChunk {
				return false
			}
			a.source.Give(c.mem)
			return true
		})
		a.oversize = 0
	}
	a.filled = 0
	a.restart()
}

// restart goes back to the first chunk, if there is one.
func (a *Arena) restart() {
	if len(a.chunks) == 0 {
		a.cur, a.bump = 0, bump{}
		return
	}
	a.enter(0, 0)
}

// Release gives all memory back. Afterwards no pointer into the arena may be
// used, and all calls that need an open arena panic, a second Release included;
// Stats and allocations of size 0 do not.
func (a *Arena) Release() {
	a.mustBeOpen("Release")
	if invariant.Enabled {
		a.poisonAll()
	}
	for _, c := range a.chunks {
		a.source.Give(c.mem)
	}
	a.chunks, a.filled, a.oversize = nil, 0, 0
	a.restart()
	a.gen++
	a.released = true
}

func (a *Arena) mustBeOpen(op string) {
	if a.released {
		panic("arena: " + op + ": after Release; open a new arena")
	}
}

// Stats are the sizes of an arena, in bytes.
type Stats struct {
	UsedBytes  int // handed out since the last Reset, padding included
	ChunkBytes int // taken for chunks
	Chunks     int
}

// Stats returns the current sizes.
func (a *Arena) Stats() Stats {
	return Stats{UsedBytes: a.filled + int(a.off), ChunkBytes: int(a.source.Bytes()), Chunks: len(a.chunks)}
}

// OffHeapBytes returns the bytes this process has mapped outside the Go heap
// through this module, by purpose.
func OffHeapBytes() map[string]int64 { return offheap.Usage() }

func checkSize(op string, n int) {
	if n < 0 || n > maxAllocBytes {
		panic(fmt.Sprintf("arena: %s: size %d; want 0 to %d", op, n, maxAllocBytes))
	}
}
