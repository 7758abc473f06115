package pool

import (
	"sync"
	"sync/atomic"
)

// A depot is the list of idle objects that all Ps share. The per-P stacks
// exchange objects with it in batches, so its lock is rarely taken.
type depot[T any] struct {
	mu    sync.Mutex
	items []*T // guarded by mu; last in, first out
	low   int  // guarded by mu; least len(items) since the last trim

	// size is len(items), stored under mu. Readers without mu use it to skip the
	// lock if there is nothing to take.
	size atomic.Int64

	// Operations that no P counted itself; guarded by mu. Race builds keep only
	// this count.
	count
}

// add appends items. The caller holds mu.
func (d *depot[T]) add(items ...*T) {
	d.items = append(d.items, items...)
	d.size.Store(int64(len(d.items)))
}

// take moves the newest items into dst and returns how many it moved. The
// caller holds mu.
func (d *depot[T]) take(dst []*T) int {
	rest := max(0, len(d.items)-len(dst))
	n := copy(dst, d.items[rest:])
	clear(d.items[rest:])
	d.items = d.items[:rest]
	d.low = min(d.low, rest)
	d.size.Store(int64(rest))
	return n
}

// trim drops the items that nobody needed since the last trim and returns how
// many. The caller holds mu.
func (d *depot[T]) trim() int {
	n := d.low
	kept := d.items[n:]
	if n > 0 {
		// Use a new array, so that the memory of a burst is freed too.
		kept = append([]*T(nil), kept...)
	}
	d.items, d.low = kept, len(kept)
	d.size.Store(int64(len(kept)))
	return n
}
