package http11

import (
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/release"
)

// keeping says which block a region keeps after its requests have ended.
type keeping uint8

const (
	keepNone  keeping = iota // none
	keepFirst                // the first
	keepLast                 // the last, which is the largest
)

// A region is the memory of one request, or of several in a row: a bump
// allocator over a list of blocks. Only the holder of the turn changes it.
type region struct {
	turn   atomic.Uint64 // see turn.go; publishes the rest to whoever takes the turn
	x      *exchange     // answers the request; nil if it is only retained, and outside of servers
	cur    []byte        // the last block
	off    int           // used bytes of cur
	memory *memory

	// refs counts the holders: the connection and each Retained. It increases
	// under the turn; the last decrement passes the region to its caller, who
	// releases it.
	refs atomic.Int32

	handed   int16                   // used entries of handles
	referred bool                    // views refer to more than the head
	handles  *[handlesAtOnce]Context // see exchange.open
	blocks   []block                 // none before the first allocation

	head head

	// What views refer to, indexed by the constants in view.go: set by refer,
	// except base[baseHead].
	base     [numBases][]byte
	trailers []field // spans of base[baseTrailer]

	slot  *slot    // of memory.regions
	first [2]block // initial array of blocks
}

// A slot is the pool's record of a region. References handed out point to the
// region itself, whose word must reject them even while idle: the pool must not
// reset it.
type slot struct{ r *region }

func (m *memory) newRegion() *slot {
	r := &region{memory: m}
	r.slot = &slot{r}
	r.turn.Store(turnBusy)
	r.blocks = r.first[:0]
	r.head.fields = make([]field, 0, 16)
	return r.slot
}

// alloc returns n bytes of unspecified contents, 8-byte aligned.
func (r *region) alloc(n int) []byte {
	at := (r.off + 7) &^ 7
	if uint(n) > uint(len(r.cur)-at) {
		r.grow(n)
		at = 0
	}
	r.off = at + n
	return r.cur[at:r.off:r.off]
}

// extra is alloc for a request that has begun: the last allocation may be its
// response, with spare capacity.
func (r *region) extra(n int) []byte {
	if r.x != nil {
		return r.x.take(n)
	}
	return r.alloc(n)
}

// grow starts a new block of at least n bytes. Each block is twice as large as
// the one before, up to a bound.
func (r *region) grow(n int) {
	if n < 0 {
		panic("http11: UnsafeAlloc: the size is negative")
	}
	size := r.memory.config.BlockBytes
	if len(r.blocks) > 0 {
		size = min(2*len(r.cur), maxBlockBytes)
	}
	b := r.memory.source.get(max(size, (n+7)&^7))
	r.blocks = append(r.blocks, b)
	r.cur, r.off = b.mem, 0
}

// room returns b with capacity for at least n more bytes. If b is the last
// allocation and the rest of its block suffices, b grows in place; otherwise it
// is copied. The whole capacity is taken until trim.
func (r *region) room(b []byte, n int) []byte {
	at := r.off
	if r.isLast(b) {
		at -= cap(b)
	} else {
		at = (at + 7) &^ 7
	}
	if at > len(r.cur) || len(b)+n > len(r.cur)-at {
		r.grow(max(len(b)+n, min(2*len(b), maxBlockBytes)))
		at = 0
	}
	moved := r.cur[at : at+len(b)]
	if len(b) > 0 && &moved[0] != &b[0] {
		copy(moved, b)
	}
	r.off = len(r.cur)
	return moved
}

// trim returns b without spare capacity. If b is the last allocation, that
// capacity becomes free again.
func (r *region) trim(b []byte) []byte {
	if r.isLast(b) {
		r.off -= cap(b) - len(b)
	}
	return b[:len(b):len(b)]
}

// isLast reports whether the capacity of b ends where the next allocation
// begins.
func (r *region) isLast(b []byte) bool {
	return cap(b) > 0 && r.off > 0 && &b[:cap(b)][cap(b)-1] == &r.cur[r.off-1]
}

// refer lets views of a base other than baseHead refer to b.
func (r *region) refer(base uint64, b []byte) { r.base[base], r.referred = b, true }

// forget undoes what views refer to.
func (r *region) forget() {
	r.base[baseHead], r.trailers = nil, r.trailers[:0]
	if r.referred {
		r.base, r.referred = [numBases][]byte{}, false
	}
}

// next ends the epoch: all references to it become stale. The caller has the
// turn, and keeps it.
func (r *region) next() {
	release.Uint64(&r.turn, (r.epoch()+1)<<turnShift|turnBusy)
	if invariant.Enabled {
		places.ended(r)
	}
}

// carry ends all requests. It invalidates everything handed out before except
// rest, which is memory of r. rest moves to where the first allocation after
// carry would be, and is returned as the last allocation.
func (r *region) carry(rest []byte) []byte {
	r.next()
	r.forget()
	n := len(r.blocks)
	if n == 0 {
		return nil
	}
	if n == 1 && r.memory.keep != keepNone { // nearly always
		r.off = copy(r.cur, rest)
		return r.cur[:r.off:r.off]
	}
	var kept block
	at := -1
	switch r.memory.keep {
	case keepFirst:
		at = 0
	case keepLast:
		at = n - 1
		if len(r.cur) > r.memory.config.ChunkBytes {
			at = 0
		}
	}
	if at >= 0 {
		kept = r.blocks[at]
	}
	if len(kept.mem) < len(rest) {
		at, kept = -1, r.memory.source.get(max((len(rest)+7)&^7, r.memory.config.BlockBytes))
	}
	copy(kept.mem, rest)
	for i, b := range r.blocks {
		if i != at {
			r.memory.source.put(b)
		}
	}
	clear(r.blocks)
	r.blocks, r.cur, r.off = r.first[:0], kept.mem, len(rest)
	if kept.mem != nil {
		r.blocks = append(r.blocks, kept)
	}
	return r.cur[:len(rest):len(rest)]
}

// detach is carry for a connection, which has the turn. If the request was
// retained, its holders keep its memory and the connection continues with
// another region.
func (r *region) detach(rest []byte) (*region, []byte) {
	if r.refs.Load() == 1 {
		return r, r.carry(rest)
	}
	fresh := r.memory.acquire()
	if len(rest) > 0 {
		rest = fresh.trim(append(fresh.room(nil, len(rest)), rest...))
	}
	fresh.x, r.x = r.x, nil
	r.drop()
	return fresh, rest
}

// drop releases a connection's hold on the region, and its turn.
func (r *region) drop() {
	if r.refs.Load() == 1 {
		r.release() // nobody can retain it any longer
		return
	}
	r.x = nil // it serves other requests
	r.pass()
	r.leave()
}

// leave releases one hold on the region, without the turn.
func (r *region) leave() {
	if r.refs.Add(-1) == 0 {
		r.reclaim()
		r.release()
	}
}

// release gives all memory back. The region must not be used afterwards.
func (r *region) release() {
	r.next()
	for _, b := range r.blocks {
		r.memory.source.put(b)
	}
	clear(r.blocks)
	r.blocks, r.cur, r.off, r.x = r.first[:0], nil, 0, nil
	r.forget()
	r.head.scanned = 0
	r.memory.regions.Put(r.slot)
}
