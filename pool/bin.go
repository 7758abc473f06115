package pool

import (
	"math/bits"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/release"
)

// A bin holds up to 64 objects. Its owner, the P whose id is its index, fills
// and empties it while pinned. While bins are shared, one other goroutine at a
// time, the thief, may take from it. Otherwise the owner is alone and stores
// plainly; package release says why it may.
//
// A set bit of full says that the slot holds an object. Whoever clears the bit
// has the object and then empties the slot. The owner does so before its next
// push. The thief may be slower: it marks the slot in taken before it clears
// full, and clears taken when it is done. The owner fills a slot that is in
// neither, and reads full first, so it cannot miss both of the thief's marks.
type bin[T any] struct {
	_       [cacheLine]byte
	private *T            // one more, for a Get after a Put: the owner's, or while bins are shared the thief's
	calm    uint32        // owned by the owner: pushes since it last asked for unsharing
	full    atomic.Uint64 // publishes slots to whoever clears their bit
	taken   atomic.Uint64 // stored by the thief; publishes the emptied slot to the owner
	count
	slots [64]*T
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
	used := b.full.Load()
	used |= b.taken.Load()
	i := bits.TrailingZeros64(^used)
	if i >= depth {
		return false
	}
	b.slots[i&63] = x
	if shared {
		b.full.Or(1 << i)
	} else {
		release.Uint64(&b.full, used|1<<i) // taken is 0
	}
	return true
}

// due counts a push into a shared bin, and reports whether it ends a period of
// that many. The caller is pinned to the owner.
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
	full := b.full.Load()
	i := bits.Len64(full) - 1
	if full == 0 {
		return nil
	}
	if rest := full &^ (1 << i); !shared {
		release.Uint64(&b.full, rest)
	} else if !b.full.CompareAndSwap(full, rest) {
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
