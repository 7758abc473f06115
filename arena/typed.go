package arena

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/isobar-go/isobar/internal/base/block"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A TypedConfig sizes a [Typed]. The zero TypedConfig is ready to use.
type TypedConfig struct {
	// ChunkBytes is the size of the first chunk: 64 KiB by default, at least 4
	// KiB. Each later chunk is as large as all earlier ones together, up to 16 MiB
	// or ChunkBytes, and no larger than LimitBytes leaves.
	ChunkBytes int
	// LimitBytes bounds the total size of the chunks; 0 means no bound.
	LimitBytes int
}

// A Typed allocates values of one type, which may hold pointers: its chunks are
// slices of T in the Go heap, which the garbage collector scans. Make one with
// [OpenTyped]. It must not be copied and is for one goroutine at a time.
//
// Reset clears the used part, so freed values keep no other objects alive and
// new values need no clearing.
type Typed[T any] struct {
	_     [0]sync.Mutex // has go vet report copies
	items []T           // the current chunk, chunks[cur].items
	n     int           // how many items are handed out

	chunks   []typedChunk[T]
	cur      int
	filled   int // values handed out from chunks before cur
	gen      uint64
	released bool
	config   TypedConfig
	source   block.Source   // counts the chunks
	checks   typedChecks[T] // in checking builds
}

// A typedChunk is a chunk and the number of its values handed out, set once it
// is no longer current.
type typedChunk[T any] struct {
	items []T
	used  int
}

// OpenTyped returns an empty arena of Ts. The error names the configuration
// field that is out of range.
func OpenTyped[T any](config TypedConfig) (*Typed[T], error) {
	if config.ChunkBytes == 0 {
		config.ChunkBytes = defaultChunkBytes
	}
	if err := checkChunk("OpenTyped", config.ChunkBytes, config.LimitBytes); err != nil {
		return nil, err
	}
	if sizeOf[T]() > maxChunkBytes {
		return nil, errors.New("arena: OpenTyped: values above 16 MiB; allocate them with new")
	}
	source := block.NewSource(block.Config{LimitBytes: int64(config.LimitBytes), OnHeap: true})
	return &Typed[T]{config: config, source: source}, nil
}

// New returns a zero T.
func (a *Typed[T]) New() *T {
	if invariant.Enabled {
		return &a.checkedSlice(1)[0]
	}
	if i := a.n; i < len(a.items) {
		a.n = i + 1
		return &a.items[i]
	}
	return &a.takeFromNext(1)[0]
}

// MakeSlice returns a slice of n adjacent zero Ts with no spare capacity. It panics if n is
// negative or absurdly large.
func (a *Typed[T]) MakeSlice(n int) []T {
	checkCount[T]("MakeSlice", n)
	if invariant.Enabled {
		return a.checkedSlice(n)
	}
	return a.take(n)
}

func (a *Typed[T]) take(n int) []T {
	if n > len(a.items)-a.n {
		return a.takeFromNext(n)
	}
	s := a.items[a.n : a.n+n : a.n+n]
	a.n += n
	return s
}

func (a *Typed[T]) takeFromNext(n int) []T {
	if err := a.advance(n); err != nil {
		panic(fmt.Errorf("arena: allocation of %d values: %w; call Reserve to check beforehand", n, err))
	}
	return a.take(n)
}

// AppendTo appends vals to s like append, but takes memory for a longer slice
// from the arena.
func (a *Typed[T]) AppendTo(s []T, vals ...T) []T {
	if n := len(s) + len(vals); n > cap(s) {
		s = append(a.MakeSlice(max(n, 2*cap(s), 4))[:0], s...)
	}
	return append(s, vals...)
}

// advance moves to a chunk with at least n free values: the next one, or a new
// one inserted before it.
func (a *Typed[T]) advance(n int) error {
	a.mustBeOpen("allocation")
	next := 0
	if len(a.chunks) > 0 {
		next = a.cur + 1
	}
	if next == len(a.chunks) || len(a.chunks[next].items) < n {
		items, err := a.newChunk(n)
		if err != nil {
			return err
		}
		a.chunks = slices.Insert(a.chunks, next, typedChunk[T]{items: items})
	}
	if next > 0 {
		a.chunks[a.cur].used = a.n
		a.filled += a.n
	}
	a.enter(next, 0)
	return nil
}

func (a *Typed[T]) newChunk(n int) ([]T, error) {
	size := max(int(sizeOf[T]()), 1)
	n = max(n, a.source.Next(n*size, a.config.ChunkBytes, maxChunkBytes)/size, 1)
	if err := a.source.Claim(n * size); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

func (a *Typed[T]) enter(i, n int) {
	a.cur, a.items, a.n = i, a.chunks[i].items, n
}

// Reserve makes sure that n values can be allocated without another chunk,
// singly or as one slice. The error wraps [ErrLimit].
func (a *Typed[T]) Reserve(n int) error {
	checkCount[T]("Reserve", n)
	a.mustBeOpen("Reserve")
	if n <= len(a.items)-a.n {
		return nil
	}
	if err := a.advance(n); err != nil {
		return fmt.Errorf("arena: Reserve(%d): %w", n, err)
	}
	return nil
}

// Mark returns the current point.
func (a *Typed[T]) Mark() Mark {
	a.mustBeOpen("Mark")
	return Mark{owner: a, gen: a.gen, chunk: a.cur, off: uintptr(a.n), filled: a.filled}
}

// Rewind frees everything allocated since m was taken. It panics if m belongs
// to another arena, predates a Reset, or lies after the current point.
func (a *Typed[T]) Rewind(m Mark) {
	a.mustBeOpen("Rewind")
	m.check(a, a.gen, a.cur, uintptr(a.n))
	if invariant.Enabled {
		a.checks.freed = invariant.Here()
	}
	a.free(m.chunk, int(m.off))
	a.filled = m.filled
}

// Reset frees all allocations and keeps the memory. It takes time in proportion
// to the memory used, which it clears.
func (a *Typed[T]) Reset() {
	a.mustBeOpen("Reset")
	a.gen++
	if invariant.Enabled {
		a.checks.freed = invariant.Here()
	}
	a.free(0, 0)
	a.filled = 0
}

// free goes back to item n of chunk i and clears everything handed out after it.
func (a *Typed[T]) free(i, n int) {
	if len(a.chunks) == 0 {
		return
	}
	a.chunks[a.cur].used = a.n
	for j, from := i, n; j <= a.cur; j, from = j+1, 0 {
		c := &a.chunks[j]
		if invariant.Enabled {
			a.checks.poison(c.items[from:c.used])
		} else {
			clear(c.items[from:c.used])
		}
	}
	a.enter(i, n)
}

// Release drops all memory; the garbage collector frees it once no pointer into
// it remains. Later calls panic as those of an [Arena] do.
func (a *Typed[T]) Release() {
	a.mustBeOpen("Release")
	a.gen++
	a.chunks, a.cur, a.items, a.n, a.filled, a.source = nil, 0, nil, 0, 0, block.Source{}
	a.released = true
}

func (a *Typed[T]) mustBeOpen(op string) {
	if a.released {
		panic("arena: " + op + ": after Release; open a new arena")
	}
}

// Stats returns the current sizes.
func (a *Typed[T]) Stats() Stats {
	return Stats{UsedBytes: (a.filled + a.n) * int(sizeOf[T]()), ChunkBytes: int(a.source.Bytes()), Chunks: len(a.chunks)}
}
