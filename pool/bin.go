package pool

import (
	"math/bits"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A bin holds up to 64 objects. Its owner, the P whose id is its index, fills and empties it while
// pinned. While bins are unshared, only the owner uses the bin, as a stack, like a cache does.
// While they are shared, one other goroutine at a time, the thief, may take from it as well: the
// thief owns the stack, exposes its slots, and shares them with the owner through full and taken.
//
// A set bit of full says that the slot holds an object. Whoever clears the bit
// has the object and then empties the slot. The owner does so before its next
// push. The thief may be slower: it marks the slot in taken before it clears
// full, and clears taken when it is done. The owner fills a slot that is in
// neither, and reads full first, so it cannot miss both of the thief's marks.
//
// In a bin used as a stack, full has no bit and taken has all: an owner that finds bins
// shared before the thief has exposed this one can neither take nor put.
type bin[T any] struct {
	stack[T]
	depth uintptr       // slots that the stack may use: 0 once exposed; owned like the stack
	calm  uint32        // owned by the owner: pushes since it last asked for unsharing
	full  atomic.Uint64 // publishes slots to whoever clears their bit
	taken atomic.Uint64 // stored by the thief; publishes the emptied slot to the owner
}

// expose lets owner and thief take from the slots by their bits. The caller is
// the thief, and bins are shared.
func (b *bin[T]) expose() {
	if b.depth == 0 {
		return
	}
	n := b.n
	b.n, b.depth = 0, 0
	b.full.Store(1<<n - 1)
	b.taken.Store(0)
}

// cover undoes expose. The caller is pinned to the owner, and bins are unshared.
func (b *bin[T]) cover(depth int) {
	n := uintptr(0)
	for full := b.full.Load(); full != 0; full &= full - 1 {
		i := bits.TrailingZeros64(full)
		x := b.slots[i]
		b.slots[i] = nil
		b.slots[n%maxDepth] = x
		n++
	}
	b.n, b.depth = n, uintptr(depth)
	b.full.Store(0)
	b.taken.Store(^uint64(0))
}

// stash keeps x in private if it may. The caller is pinned to the owner.
func (b *bin[T]) stash(x *T, shared bool) bool {
	if shared || b.private != nil {
		return false
	}
	b.private = x
	return true
}

// fetch takes what stash has kept, or returns nil. The caller is pinned to the
// owner.
func (b *bin[T]) fetch(shared bool) *T {
	if shared || b.private == nil {
		return nil
	}
	x := b.private
	b.private = nil
	return x
}

// push keeps x unless the first depth slots are in use. The caller is pinned to
// the owner.
func (b *bin[T]) push(x *T, depth int, shared bool) bool {
	if !shared {
		if b.depth != uintptr(depth) {
			b.cover(depth)
		}
		return b.stack.push(x, b.depth)
	}
	used := b.full.Load()
	used |= b.taken.Load()
	i := bits.TrailingZeros64(^used)
	if i >= depth {
		return false
	}
	b.slots[i&63] = x
	b.full.Or(1 << i)
	return true
}

// due counts a push into a shared bin, and reports whether it completes a period of that
// many pushes. The caller is pinned to the owner.
func (b *bin[T]) due(period uint32) bool {
	if period == 0 {
		return false
	}
	b.calm++
	if b.calm < period {
		return false
	}
	b.calm = 0
	return true
}

// pop takes an object, or returns nil if there is none; it may also return nil
// if a thief interferes. The caller is pinned to the owner.
func (b *bin[T]) pop(shared bool) *T {
	if !shared {
		if x := b.stack.pop(); x != nil {
			return x
		}
	}
	full := b.full.Load()
	i := bits.Len64(full) - 1
	if full == 0 || !b.full.CompareAndSwap(full, full&^(1<<i)) {
		return nil
	}
	x := b.slots[i&63]
	b.slots[i&63] = nil
	if invariant.Race {
		b.taken.Or(0) // shows the race detector that the owner's next push comes after
	}
	return x
}

// steal takes an object, or returns nil. The caller must ensure that it is the
// only thief and that bins are shared.
func (b *bin[T]) steal() *T {
	if x := b.private; x != nil {
		b.private = nil
		return x
	}
	for {
		full := b.full.Load()
		if full == 0 {
			return nil
		}
		bit := full & -full
		b.taken.Or(bit)
		var x *T
		if b.full.And(^bit)&bit != 0 {
			i := bits.TrailingZeros64(bit)
			x = b.slots[i]
			b.slots[i] = nil
		}
		b.taken.And(^bit)
		if x != nil {
			return x
		}
	}
}
