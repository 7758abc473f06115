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
// copies; writers take turns. It is made by [NewConcurrent] and must not be
// copied.
//
// A Get that finds an object returns it as one Insert or Update wrote it, never
// a mixture, and takes effect at some moment between its call and its return;
// what a writer did before its Insert, Update, Remove or Clear happens before
// what follows a Get that saw the outcome. A reader that meets an Update of its
// very object tries again.
//
// A copy is told from a mixture by a count of the object's updates modulo 2^30:
// a reader that is suspended for exactly a multiple of that many updates is
// beyond what it can tell.
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
// the configuration, or that T cannot be held.
func NewConcurrent[T any](config Config) (*Concurrent[T], error) {
	if t := reflect.TypeFor[T](); holdsPointers(t) {
		return nil, fmt.Errorf("slab: NewConcurrent: %v holds pointers, which cannot be copied while they are written; use handles instead, or a Slab under a lock", t)
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

// publish lets readers see the chunks and slots that there now are. Called
// with mu held.
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
	i, sl, gen := c.slab.take()
	// From here on no handle of an earlier generation finds the slot, and none
	// of this one exists before Insert returns.
	sl.storeMeta(metaOf(gen, 0))
	sl.storeValue(&v)
	sl.storeMeta(metaOf(gen, liveBit))
	c.publish()
	return handleOf[T](i, gen)
}

// find returns the slot of the object that h names. Called with mu held.
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
// whether it is.
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
	count := sl.meta &^ liveBit & (liveBit<<1 - 1)
	sl.storeMeta(metaOf(h.gen(), liveBit|count+1))
	sl.storeValue(&v)
	sl.storeMeta(metaOf(h.gen(), liveBit|(count+2)&(liveBit-1)))
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

// All goes over copies of the objects in the order of their slots. One that is
// inserted, updated or removed meanwhile is visited as it was or as it is, or
// missed.
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

// Release gives all memory back. No other use may run at the same time; those
// that follow find nothing or panic.
func (c *Concurrent[T]) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slab.Release()
	c.publish()
}

// Stats returns the present sizes. It looks at every slot, and writers wait.
func (c *Concurrent[T]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slab.Stats()
}
