package slab

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/block"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

const (
	chunkShift = 10
	chunkSlots = 1 << chunkShift
	maxSlots   = 1 << 30
	// maxRun is the largest number of chunks mapped at once.
	maxRun = 64
	// maxObjectBytes bounds a chunk to 64 MiB.
	maxObjectBytes = 64 << 10

	none = math.MaxUint32 >> 1 // the link of the last free slot
)

// ErrLimit reports that an object does not fit within LimitBytes, or that the
// slab has 2^30 slots.
var ErrLimit = block.ErrLimit

// A Handle names an object in a slab of Ts. The zero Handle names none. It is
// valid only for the slab that returned it.
type Handle[T any] uint64 // the generation in the upper half, the slot in the lower

func handleOf[T any](slot, gen uint32) Handle[T] { return Handle[T](gen)<<32 | Handle[T](slot) }

func (h Handle[T]) slot() uint32 { return uint32(h) }
func (h Handle[T]) gen() uint32  { return uint32(h >> 32) }

// A Config says where a slab gets its memory. The zero Config is ready to use.
type Config struct {
	// LimitBytes bounds the total size of the chunks; 0 means no bound.
	LimitBytes int
	// OnHeap takes chunks from the Go heap, which allows types with pointers.
	// Without it, chunks are mapped from the operating system.
	OnHeap bool
	// HugePages maps whole 2 MiB huge pages and asks the system for them. It has
	// no effect with OnHeap.
	HugePages bool
	// Purpose is the name under which [OffHeapBytes] counts the mapped bytes;
	// "slab" by default.
	Purpose string
}

// A slot is the place of one object.
type slot[T any] struct {
	_     [0]atomic.Uint64 // aligns meta for Concurrent on 32-bit platforms
	meta  meta
	value T
}

// A meta holds a slot's generation in the upper half. The lower half is the number of the
// slot while it is live, so that its meta equals the handle of its object; while it is
// free, the free bit and the next free slot. The generation is that of the slot's object
// or, while the slot is free, of its next one. It is 0 in a slot that was never used.
//
// In a Concurrent the lower half of a live slot counts the updates of the object
// instead, twice each: the count is odd while the value is being written.
type meta uint64

const freeBit meta = 1 << 31

func metaOf(gen uint32, low meta) meta { return meta(gen)<<32 | low }

func (m meta) gen() uint32  { return uint32(m >> 32) }
func (m meta) live() bool   { return m&freeBit == 0 } // of a slot below bump
func (m meta) next() uint32 { return uint32(m &^ freeBit) }

type chunk[T any] [chunkSlots]slot[T]

// A Slab holds objects behind handles. Make one with [New]. It must not be
// copied and is for one goroutine at a time.
//
// A slab that is dropped without [Slab.Release] keeps its mapped memory,
// because pointers into it may remain.
type Slab[T any] struct {
	_      [0]sync.Mutex // has go vet report copies
	chunks []*chunk[T]
	bump   uint32 // slots below are live, free or retired; those above are unused
	free   uint32 // the first free slot below bump, or none
	live   int
	// retired counts slots whose generations are exhausted; recounted after Clear.
	retired int

	source   block.Source // of the chunks
	runs     [][]byte     // of source, unless on the heap
	tables   block.Source // of mapped tables of chunks
	tabled   [][]byte     // of tables
	released bool
	config   Config
	shared   bool                       // by a Concurrent: no pointers are handed out
	removed  map[uint32]invariant.Event // in checking builds: where free slots were freed
}

// New returns an empty slab. It maps nothing yet. The error says what is wrong
// with the configuration, or that T is not allowed.
func New[T any](config Config) (*Slab[T], error) {
	t := reflect.TypeFor[T]()
	switch {
	case config.LimitBytes < 0:
		return nil, fmt.Errorf("slab: New: LimitBytes is %d; want 0 for no limit, or more", config.LimitBytes)
	case t.Size() > maxObjectBytes:
		return nil, fmt.Errorf("slab: New: %v has %d bytes; want at most %d; keep large data elsewhere", t, t.Size(),
			maxObjectBytes)
	case !config.OnHeap && holdsPointers(t):
		return nil, fmt.Errorf("slab: New: %v holds pointers, which the garbage collector cannot see in mapped memory; "+
			"use handles instead, or set OnHeap", t)
	}
	if config.Purpose == "" {
		config.Purpose = "slab"
	}
	from := block.Config{
		LimitBytes: int64(config.LimitBytes), OnHeap: config.OnHeap, HugePages: config.HugePages, Purpose: config.Purpose,
	}
	tables := block.Config{OnHeap: config.OnHeap, Purpose: config.Purpose}
	return &Slab[T]{free: none, config: config, source: block.NewSource(from), tables: block.NewSource(tables)}, nil
}

// holdsPointers reports whether t contains pointers.
func holdsPointers(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return t.Len() > 0 && holdsPointers(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if holdsPointers(f.Type) {
				return true
			}
		}
		return false
	default:
		return k < reflect.Bool || k > reflect.Complex128
	}
}

// Insert adds v and returns its handle. If there is no room it panics with an
// error that wraps [ErrLimit] or is that of the operating system. Call Reserve
// to check beforehand.
func (s *Slab[T]) Insert(v T) Handle[T] {
	return s.insert(&v) // apart, so that Insert is inlined and v need not be copied
}

// insert is Insert. If a slot is free it does what take does, to save a call.
func (s *Slab[T]) insert(v *T) Handle[T] {
	var h Handle[T]
	var sl *slot[T]
	switch i := s.free; {
	case i == none:
		h, sl = s.takeUnused()
	case invariant.Enabled:
		h, sl = s.take()
	default:
		sl = s.at(i)
		h = handleOf[T](i, sl.meta.gen())
		s.free = sl.meta.next()
		s.live++
	}
	sl.meta = meta(h)
	if hasWords[T]() && !s.config.OnHeap {
		sl.setWords(v)
	} else {
		sl.value = *v
	}
	return h
}

// take takes a free or unused slot and returns the handle of its new object. The
// caller sets the slot's meta and value.
func (s *Slab[T]) take() (Handle[T], *slot[T]) {
	i := s.free
	if i == none {
		return s.takeUnused()
	}
	sl := s.at(i)
	s.free = sl.meta.next()
	s.live++
	if invariant.Enabled {
		s.mustBeUntouched(i, sl)
	}
	return handleOf[T](i, sl.meta.gen()), sl
}

func (s *Slab[T]) takeUnused() (Handle[T], *slot[T]) {
	for {
		if int(s.bump) == len(s.chunks)*chunkSlots {
			if err := s.grow(1); err != nil {
				panic(fmt.Errorf("slab: Insert: %w; call Reserve to check beforehand", err))
			}
		}
		i := s.bump
		s.bump++
		sl := s.at(i)
		if gen := sl.meta.gen(); gen < math.MaxUint32 {
			s.live++
			return handleOf[T](i, gen+1), sl
		}
		sl.storeMeta(metaOf(math.MaxUint32, freeBit|none))
		s.retired++
	}
}

// Get returns the object that h names. The pointer is valid until the object is
// removed.
func (s *Slab[T]) Get(h Handle[T]) (v *T, ok bool) {
	if i := h.slot(); i < s.bump {
		if sl := s.at(i); sl.meta == meta(h) {
			return &sl.value, true
		}
	}
	return nil, false
}

// Remove removes the object that h names, and reports whether there was one.
func (s *Slab[T]) Remove(h Handle[T]) (ok bool) {
	i := h.slot()
	if i >= s.bump {
		return false
	}
	sl := s.at(i)
	if sl.meta != meta(h) {
		return false
	}
	if s.config.OnHeap {
		sl.value = *new(T)
	}
	if invariant.Enabled {
		s.note(i, invariant.Here())
		s.poison(sl)
	}
	sl.meta = s.freed(i, h.gen())
	return true
}

// freed puts slot i, whose object of generation gen is removed, on the free
// list and returns its new meta. After its last generation the slot is retired:
// it keeps that generation with the free bit and is on no list.
func (s *Slab[T]) freed(i, gen uint32) meta {
	s.live--
	if gen == math.MaxUint32 {
		s.retired++
		return metaOf(gen, freeBit|none)
	}
	next := s.free
	s.free = i
	return metaOf(gen+1, freeBit|meta(next))
}

// Len returns the number of objects.
func (s *Slab[T]) Len() int { return s.live }

// All iterates over the objects in slot order. The loop may remove the current
// object. It may or may not visit objects inserted meanwhile.
func (s *Slab[T]) All() iter.Seq2[Handle[T], *T] {
	return func(yield func(Handle[T], *T) bool) {
		for i := uint32(0); i < s.bump; i++ {
			if sl := s.at(i); sl.meta.live() && !yield(handleOf[T](i, sl.meta.gen()), &sl.value) {
				return
			}
		}
	}
}

// Clear removes all objects and keeps the memory, which later objects fill from
// the start, in order. It takes constant time, except on the Go heap, where it
// clears the used slots.
func (s *Slab[T]) Clear() {
	s.mustBeOpen("Clear")
	if (s.config.OnHeap || invariant.Enabled) && !s.shared {
		s.wipe()
	}
	s.bump, s.free, s.live = 0, none, 0
}

// wipe clears the values of all used slots or, in checking builds, poisons the
// mapped ones.
func (s *Slab[T]) wipe() {
	for i := range s.bump {
		sl := s.at(i)
		sl.value = *new(T)
		if invariant.Enabled {
			s.poison(sl)
		}
	}
	clear(s.removed)
}

// Release gives all memory back. Get and Remove then return ok=false for every
// handle, and there are no objects. No pointer from Get may be used afterwards.
// Insert, Reserve, Clear and a second Release panic.
func (s *Slab[T]) Release() {
	s.mustBeOpen("Release")
	for _, run := range s.runs {
		s.source.Give(run)
	}
	for _, table := range s.tabled {
		s.tables.Give(table)
	}
	s.chunks, s.runs, s.tabled, s.source = nil, nil, nil, block.Source{}
	s.bump, s.free, s.live = 0, none, 0
	s.released = true
}

func (s *Slab[T]) mustBeOpen(op string) {
	if s.released {
		panic("slab: " + op + ": after Release; make a new slab")
	}
}

// Reserve makes sure that n more objects can be inserted without more memory.
// The error wraps [ErrLimit] or is that of the operating system.
func (s *Slab[T]) Reserve(n int) error {
	if n < 0 || n > maxSlots {
		panic(fmt.Sprintf("slab: Reserve: %d objects; want 0 to %d", n, maxSlots))
	}
	s.mustBeOpen("Reserve")
	missing := s.live + s.retired + n - len(s.chunks)*chunkSlots
	if missing <= 0 {
		return nil
	}
	if err := s.grow((missing + chunkSlots - 1) / chunkSlots); err != nil {
		return fmt.Errorf("slab: Reserve(%d): %w", n, err)
	}
	return nil
}
