package gcctl

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A gate counts the open critical sections and gives each a slot. Pause and End
// are lock-free; slot memory grows under a lock and is reused.
type gate struct {
	// state holds the number of open, uncut sections in its low 32 bits, and
	// flags. Any goroutine changes it. Its compare-and-swap from "no section is
	// open" publishes the start of a collection: sections that begin later come
	// after that start.
	state atomic.Uint64
	_     [56]byte
	// free heads the list of free slots: a 1-based index in the low half, the
	// number of sections ever begun in the high half, which makes a stale pop fail
	// (ABA). It publishes the slots' next fields.
	free atomic.Uint64
	_    [56]byte

	cutOpen atomic.Int64 // cut sections that have not ended; a gauge

	chunks [maxChunks]atomic.Pointer[[]slot] // written under mu, once each; publishes the slots
	mu     sync.Mutex
	made   atomic.Int32 // chunks; written under mu, read by the controller
}

const (
	countMask = 1<<32 - 1

	// quiet: Pause need not wake the controller. Set by the controller.
	quiet = 1 << 32
	// awaited: the End that leaves no section open wakes the controller. Set
	// by the controller.
	awaited = 1 << 33
	// collecting: the controller has started a collection that has not ended.
	collecting = 1 << 34

	firstChunk = 64
	maxChunks  = 20
)

// A slot represents one section at a time.
type slot struct {
	// word is generation<<2 with the slot's state below. Whoever takes the slot
	// from the free list opens it; the controller cuts it; End frees it and
	// increments the generation. It publishes nothing else.
	word atomic.Uint32
	next atomic.Uint32 // 1-based index of the next free slot; valid while free
}

const (
	slotOpen = 1
	slotCut  = 2
	slotMask = 3
)

// A Section is an open critical section. End it exactly once, from any
// goroutine. Copies refer to the same section; the zero Section is none.
type Section struct {
	c     *Controller
	index uint32
	word  uint32
}

// Pause begins a critical section. It never waits.
func (c *Controller) Pause() Section {
	state := c.gate.state.Add(1)
	index, s := c.gate.take()
	word := s.word.Load() | slotOpen
	s.word.Store(word)
	if state&quiet == 0 {
		c.nudge()
	}
	return Section{c: c, index: index, word: word}
}

// End ends the section. It panics if the section has already ended.
func (s Section) End() {
	if s.c == nil {
		panic("gcctl: End: the zero Section was never begun; call End on what Pause returned")
	}
	g := &s.c.gate
	slot := g.slot(s.index)
	freed := (s.word>>2 + 1) << 2
	if slot.word.CompareAndSwap(s.word, freed) {
		state := g.state.Add(^uint64(0))
		g.link(s.index, slot)
		if state&awaited != 0 && state&countMask == 0 {
			s.c.nudge()
		}
		return
	}
	if !slot.word.CompareAndSwap(s.word^slotMask, freed) { // cut
		panic("gcctl: End: the section has already ended; call End exactly once")
	}
	g.cutOpen.Add(-1)
	g.link(s.index, slot)
}

// During calls f in a critical section. The section also ends if f panics or
// calls runtime.Goexit.
func (c *Controller) During(f func()) {
	defer c.Pause().End()
	f()
}

func (g *gate) slot(index uint32) *slot {
	k := bits.Len32(index/firstChunk+1) - 1
	return &(*g.chunks[k].Load())[index-firstChunk*(1<<k-1)]
}

func (g *gate) take() (uint32, *slot) {
	for {
		head := g.free.Load()
		first := uint32(head)
		if first == 0 {
			g.grow()
			continue
		}
		s := g.slot(first - 1)
		if g.free.CompareAndSwap(head, (head>>32+1)<<32|uint64(s.next.Load())) {
			return first - 1, s
		}
	}
}

// link puts the free slots from index to last, already linked, on the list.
func (g *gate) link(index uint32, last *slot) {
	for {
		head := g.free.Load()
		last.next.Store(uint32(head))
		if g.free.CompareAndSwap(head, head&^countMask|uint64(index+1)) {
			return
		}
	}
}

func (g *gate) grow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if uint32(g.free.Load()) != 0 {
		return
	}
	k := int(g.made.Load())
	if k == maxChunks {
		panic("gcctl: Pause: 67 million sections are open; end them")
	}
	chunk := make([]slot, firstChunk<<k)
	base := uint32(firstChunk * (1<<k - 1))
	for i := range len(chunk) - 1 {
		chunk[i].next.Store(base + uint32(i) + 2)
	}
	g.chunks[k].Store(&chunk)
	g.made.Store(int32(k + 1))
	g.link(base, &chunk[len(chunk)-1])
}

func (g *gate) open() int { return int(g.state.Load() & countMask) }

func (g *gate) begun() uint32 { return uint32(g.free.Load() >> 32) }

func (g *gate) set(flag uint64, on bool) {
	if on {
		g.state.Or(flag)
	} else {
		g.state.And(^flag)
	}
}

// close marks the start of a collection, unless a section is open.
func (g *gate) close() bool {
	for {
		state := g.state.Load()
		if state&countMask != 0 {
			return false
		}
		if g.state.CompareAndSwap(state, state|collecting) {
			return true
		}
	}
}

// cut stops a slot's section from holding collections back, if word still
// matches.
func (g *gate) cut(s *slot, word uint32) bool {
	g.cutOpen.Add(1)
	if !s.word.CompareAndSwap(word, word^slotMask) {
		g.cutOpen.Add(-1)
		return false
	}
	g.state.Add(^uint64(0))
	return true
}
