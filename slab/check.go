package slab

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// This file's code runs in checking builds only (invariant.Enabled).

// poison fills the values of free slots in mapped memory; those in the Go heap
// are zero.
const poison = 0xdb

// note records that e removed the object in slot i.
func (s *Slab[T]) note(i uint32, e invariant.Event) {
	if s.removed == nil {
		s.removed = make(map[uint32]invariant.Event)
	}
	s.removed[i] = e
}

func (s *Slab[T]) freeByte() byte {
	if s.config.OnHeap {
		return 0
	}
	return poison
}

// poison fills the value of a slot whose object was removed.
func (s *Slab[T]) poison(sl *slot[T]) {
	fill := s.freeByte()
	value := sl.valueBytes()
	for j := range value {
		value[j] = fill
	}
}

// mustBeUntouched panics if the value of the free slot i was written to.
func (s *Slab[T]) mustBeUntouched(i uint32, sl *slot[T]) {
	if s.shared {
		return
	}
	fill := s.freeByte()
	for _, b := range sl.valueBytes() {
		if b != fill {
			panic(fmt.Sprintf("slab: Insert: the object in slot %d was written to after it was removed (removed %v); drop "+
				"pointers from Get before Remove", i, s.removed[i]))
		}
	}
	delete(s.removed, i)
}
