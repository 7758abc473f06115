package slab

import (
	"fmt"
	"runtime"
	"time"
)

// This file's code runs in checking builds only (invariant.Enabled).

// poison fills the values of free slots in mapped memory; those in the Go heap
// are zero.
const poison = 0xdb

// An event says where and when an object was removed.
type event struct {
	pc uintptr
	at time.Time
}

// noteRemoved records the caller of the exported function that calls it as the
// one who removed the object in slot i.
func (s *Slab[T]) noteRemoved(i uint32) {
	if s.removed == nil {
		s.removed = make(map[uint32]event)
	}
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	s.removed[i] = event{pc: pc[0], at: time.Now()}
}

func (e event) String() string {
	frame, _ := runtime.CallersFrames([]uintptr{e.pc}).Next()
	return fmt.Sprintf("removed at %s:%d (%s), %v ago", frame.File, frame.Line, frame.Function,
		time.Since(e.at).Round(time.Microsecond))
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
			panic(fmt.Sprintf("slab: Insert: the object in slot %d was written to after it was removed (%v); drop pointers "+
				"from Get before Remove", i, s.removed[i]))
		}
	}
	delete(s.removed, i)
}
