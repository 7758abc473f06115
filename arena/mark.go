package arena

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Mark is a point in the allocations of one arena. The arena can rewind to it
// until its next Reset, or until it rewinds to an earlier mark. Copies are the
// same mark; the zero Mark belongs to no arena.
type Mark struct {
	owner  any // the *Arena or *Typed
	gen    uint64
	chunk  int
	off    uintptr
	filled int
}

// Mark returns the current point.
func (a *Arena) Mark() Mark {
	a.mustBeOpen("Mark")
	return Mark{owner: a, gen: a.gen, chunk: a.cur, off: a.off, filled: a.filled}
}

// Rewind frees everything allocated since m was taken. It panics if m belongs
// to another arena, predates a Reset, or lies after the current point.
func (a *Arena) Rewind(m Mark) {
	a.mustBeOpen("Rewind")
	m.check(a, a.gen, a.cur, a.off)
	if len(a.chunks) == 0 {
		return
	}
	if invariant.Enabled {
		a.freed = invariant.Here()
		a.poisonFrom(m.chunk, m.off)
	}
	a.filled = m.filled
	a.enter(m.chunk, m.off)
}

func (m Mark) check(owner any, gen uint64, chunk int, off uintptr) {
	switch {
	case m.owner != owner:
		panic("arena: Rewind: the mark belongs to another arena; rewind the one whose Mark returned it")
	case m.gen != gen:
		panic(fmt.Sprintf("arena: Rewind: the mark was taken before a Reset (round %d, now %d); take a new one after Reset",
			m.gen, gen))
	case m.chunk > chunk || m.chunk == chunk && m.off > off:
		panic("arena: Rewind: the mark lies after the current point; a Rewind to an earlier mark ended it")
	}
}
