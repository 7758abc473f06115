package queue

import (
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A guard detects two goroutines in code that allows one. It is used if
// invariant.Enabled.
type guard struct {
	busy atomic.Bool
}

func (g *guard) enter(operation, role string) {
	if !g.busy.CompareAndSwap(false, true) {
		panic("queue: " + operation + ": two goroutines act as the " + role + " at once; " +
			"let one goroutine do it, or hold a mutex")
	}
}

func (g *guard) leave() { g.busy.Store(false) }

// yield lets tests choose which thread runs next. They replace it before they
// start goroutines.
var yield = func() {}

// step marks the gap between two atomic steps of an algorithm. It does nothing
// unless invariant.Enabled.
func step() {
	if invariant.Enabled {
		yield()
	}
}
