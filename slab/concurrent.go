package slab

import (
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Concurrent is a slab for several goroutines. Readers take no lock and get
// copies; writers take turns. Make one with [NewConcurrent]; it must not be
// copied.
//
// A Get that finds an object returns it as one Insert or Update wrote it, never
// a mixture, and takes effect at some moment between its call and its return. A
// write that precedes an Insert, Update, Remove or Clear happens before
// whatever follows a Get that saw its effect. A reader that meets an Update of
// the same object retries.
//
// A reader detects a mixture by a count of the object's updates modulo 2^30. It
// misses one only if it is suspended for an exact multiple of that many
// updates.
type Concurrent[T any] struct {
	// chunks publishes slab.chunks, whose metas and values readers load
	// atomically.
	chunks atomic.Pointer[[]*chunk[T]]
	bump   atomic.Uint32 // publishes slab.bump

	mu   sync.Mutex
	slab *Slab[T] // written to under mu, slots with atomic stores
}

// NewConcurrent returns an empty slab for several goroutines. T must hold no
// pointers, wherever the memory comes from. The error says what is wrong with
// the configuration, or that T is not allowed.
func NewConcurrent[T any](config Config) (*Concurrent[T], error) {
	if t := reflect.TypeFor[T](); holdsPointers(t) {
		return nil, fmt.Errorf("slab: NewConcurrent: %v holds pointers, which cannot be copied during a write; use "+
			"handles instead, or a Slab under a lock", t)
	}
	s, err := New[T](config)
	if err != nil {
		return nil, err
	}
	s.shared = true
	c := &Concurrent[T]{slab: s}
	c.publish()
	return c, nil
}

// publish shows readers the current chunks and slots. The caller holds mu.
func (c *Concurrent[T]) publish() {
	if old := c.chunks.Load(); old == nil || len(*old) != len(c.slab.chunks) {
		chunks := c.slab.chunks
		c.chunks.Store(&chunks)
	}
	if c.bump.Load() != c.slab.bump {
		c.bump.Store(c.slab.bump)
	}
}

// Insert adds v and returns its handle. It panics as [Slab.Insert] does.
func (c *Concurrent[T]) Insert(v T) Handle[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, sl := c.slab.take()
	// From here on no handle of an earlier generation finds the slot, and no
	// handle of this one exists until Insert returns.
	sl.storeMeta(metaOf(h.gen(), freeBit))
	sl.storeValue(&v)
	sl.storeMeta(metaOf(h.gen(), 0))
	c.publish()
	return h
}

// find returns the slot of the object that h names. The caller holds mu.
func (c *Concurrent[T]) find(h Handle[T]) (*slot[T], bool) {
	if h.slot() >= c.slab.bump {
		return nil, false
	}
	sl := c.slab.at(h.slot())
	return sl, sl.meta.gen() == h.gen() && sl.meta.live()
}

// Get returns a copy of the object that h names.
func (c *Concurrent[T]) Get(h Handle[T]) (v T, ok bool) {
	if i := h.slot(); i < c.bump.Load() {
		sl := &(*c.chunks.Load())[i>>chunkShift][i%chunkSlots]
		if ok = sl.read(h.gen(), &v); !ok {
			v = *new(T)
		}
	}
	return v, ok
}

// read copies the slot's value if its object is of generation gen, and reports
// whether it did.
func (s *slot[T]) read(gen uint32, v *T) bool {
	for {
		before := s.loadMeta()
		if before.gen() != gen || !before.live() {
			return false
		}
		if before&1 == 0 {
			s.loadValue(v)
			if s.loadMeta() == before {
				return true
			}
		} else {
			runtime.Gosched()
		}
	}
}

// Update replaces the object that h names, and reports whether there is one.
func (c *Concurrent[T]) Update(h Handle[T], v T) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sl, ok := c.find(h)
	if !ok {
		return false
	}
	count := sl.meta & (freeBit - 1)
	sl.storeMeta(metaOf(h.gen(), count+1))
	sl.storeValue(&v)
	sl.storeMeta(metaOf(h.gen(), (count+2)&(freeBit-1)))
	return true
}

// Remove removes the object that h names, and reports whether there was one.
func (c *Concurrent[T]) Remove(h Handle[T]) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sl, ok := c.find(h)
	if ok {
		sl.storeMeta(c.slab.freed(h.slot(), h.gen()))
	}
	return ok
}

// Len returns the number of objects.
func (c *Concurrent[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slab.live
}

// All iterates over copies of the objects in slot order. An object inserted,
// updated or removed meanwhile is visited in its old or new state, or missed.
func (c *Concurrent[T]) All() iter.Seq2[Handle[T], T] {
	return func(yield func(Handle[T], T) bool) {
		for i := uint32(0); i < c.bump.Load(); i++ {
			sl := &(*c.chunks.Load())[i>>chunkShift][i%chunkSlots]
			m := sl.loadMeta()
			var v T
			if m.live() && sl.read(m.gen(), &v) && !yield(handleOf[T](i, m.gen()), v) {
				return
			}
		}
	}
}

// Clear removes all objects and keeps the memory.
func (c *Concurrent[T]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slab.Clear()
	c.publish()
}

// Release gives all memory back. No other call may run at the same time. Later
// calls find nothing or panic.
func (c *Concurrent[T]) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slab.Release()
	c.publish()
}

// Stats returns the current sizes. It looks at every slot, and writers wait.
func (c *Concurrent[T]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slab.Stats()
}
