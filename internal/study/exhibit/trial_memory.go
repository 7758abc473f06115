package exhibit

import (
	"runtime"
	"runtime/debug"
	"sync"
	"unicode"
	"unsafe"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// trialPoolEviction counts how many objects, small and large, a sync.Pool loses in one
// collection. It reports the losses by size.
func trialPoolEviction(n int, rec *cell.Record) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // no other collections
	lostSmall := n - survivors(n, 1, func() any { return new([16]byte) })
	lostLarge := n - survivors(n, 1, func() any { return new([16 << 10]byte) })
	rec.Set("/trial/small:trials", float64(lostSmall))
	rec.Set("/trial/large:trials", float64(lostLarge))
	return (lostSmall + lostLarge) / 2
}

// seedShards is the sharded buffer pool of seed document 000, step 5.2, which always
// chooses the last shard instead of the goroutine's own.
type seedShards struct {
	used []bool
	mask uint64
}

func (p *seedShards) shard() int { return int(p.mask) }

// trialShardedPool counts how many of n shards are used by n goroutines.
func trialShardedPool(n int, _ *cell.Record) (hits int) {
	p := &seedShards{used: make([]bool, n), mask: uint64(n - 1)}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			p.used[p.shard()] = true
		})
	}
	all.Wait()
	for _, used := range p.used {
		if used {
			hits++
		}
	}
	return hits
}

// slotArena is the arena of seed document 000, step 6, as its benchmark creates it: the size of one buffer.
type slotArena struct {
	mem []byte
	pos int
}

func (a *slotArena) get(size int) []byte {
	if a.pos+size > len(a.mem) {
		a.pos = 0
	}
	b := a.mem[a.pos : a.pos+size : a.pos+size]
	a.pos += size
	return b
}

// trialArenaSlot counts the buffers that overlap the previous one.
func trialArenaSlot(n int, _ *cell.Record) (hits int) {
	a := &slotArena{mem: make([]byte, 1024)}
	last := a.get(1024)
	for range n {
		b := a.get(1024)
		if unsafe.SliceData(b) == unsafe.SliceData(last) {
			hits++
		}
		last = b
	}
	return hits
}

// slabArena is the arena of seed document 000, step 5.5.
type slabArena struct {
	slabs                       [][]byte
	current, position, slabSize int
}

func newSlabArena(size int) *slabArena {
	return &slabArena{slabs: [][]byte{make([]byte, size)}, slabSize: size}
}

func (a *slabArena) allocate(size int) []byte {
	if a.position+size > a.slabSize {
		a.current++
		a.position = 0
		if a.current >= len(a.slabs) {
			a.slabs = append(a.slabs, make([]byte, a.slabSize))
		}
	}
	mem := a.slabs[a.current][a.position : a.position+size]
	a.position += size
	return mem
}

// tokenize is the document's, but the slice of tokens has its capacity, so that only the
// allocations per token are counted.
func (a *slabArena) tokenize(tokens []string, text string) []string {
	start := 0
	token := func(end int) {
		if start < end {
			b := a.allocate(end - start)
			copy(b, text[start:end])
			tokens = append(tokens, string(b))
		}
	}
	for i, r := range text {
		if unicode.IsSpace(r) {
			token(i)
			start = i + len(string(r))
		}
	}
	token(len(text))
	return tokens
}

// trialArenaTokens counts the tokens whose memory lies outside the arena, and reports the allocations.
func trialArenaTokens(n int, rec *cell.Record) (hits int) {
	text := make([]byte, 0, n*8)
	for i := range n {
		text = append(text, "token"...)
		text = append(text, byte('a'+i%26), ' ')
	}
	a := newSlabArena(n * 8)
	slab := uintptr(unsafe.Pointer(unsafe.SliceData(a.slabs[0])))
	tokens, input := make([]string, 0, n), string(text)
	before := mallocs()
	tokens = a.tokenize(tokens, input)
	rec.Set("/trial/allocs:allocs", float64(mallocs()-before))
	for _, token := range tokens {
		at := uintptr(unsafe.Pointer(unsafe.StringData(token)))
		if at < slab || at >= slab+uintptr(a.slabSize) {
			hits++
		}
	}
	return hits
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// trialArenaLarge counts the panics from requests larger than the slab.
func trialArenaLarge(n int, _ *cell.Record) (hits int) {
	for i := range n {
		a := newSlabArena(1024)
		func() {
			defer func() {
				if recover() != nil {
					hits++
				}
			}()
			a.allocate(1025 + i)
		}()
	}
	return hits
}
