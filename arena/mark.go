package arena

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Mark is a point in the allocations of one arena, to which it can be
// rewound until its next Reset. Copies are the same mark.
type Mark struct {
	owner  any // the *Arena or *Typed
	gen    uint64
	chunk  int
	off    uintptr
	filled int
}

// Mark returns the present point.
func (a *Arena) Mark() Mark {
	a.mustBeOpen("Mark")
	return Mark{owner: a, gen: a.gen, chunk: a.cur, off: a.off, filled: a.filled}
}

// Rewind frees everything allocated since m was taken. It panics if m is of
// another arena, was taken before a Reset, or lies after the present point.
func (a *Arena) Rewind(m Mark) {
	a.mustBeOpen("Rewind")
	m.check(a, a.gen, a.cur, a.off)
	if len(a.chunks) == 0 {
		return
	}
	if invariant.Enabled {
		a.freed = eventHere()
		a.poisonFrom(m.chunk, m.off)
	}
	a.filled = m.filled
	a.enter(m.chunk, m.off)
}

func (m Mark) check(owner any, gen uint64, chunk int, off uintptr) {
	switch {
	case m.owner != owner:
		panic("arena: Rewind: the mark is of another arena; rewind the one whose Mark returned it")
	case m.gen != gen:
		panic(fmt.Sprintf("arena: Rewind: the mark was taken before a Reset (round %d, now %d); take it anew after Reset", m.gen, gen))
	case m.chunk > chunk || m.chunk == chunk && m.off > off:
		panic("arena: Rewind: the mark lies after the present point; it ended with the Rewind to an earlier one")
	}
}
