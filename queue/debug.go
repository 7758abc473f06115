package queue

import (
	"sync/atomic"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A guard finds two goroutines in a part that is for one. It is used where
// invariant.Enabled.
type guard struct {
	busy atomic.Bool
}

func (g *guard) enter(operation, role string) {
	if !g.busy.CompareAndSwap(false, true) {
		panic("queue: " + operation + ": two goroutines act as the " + role + " at once; let one goroutine do it, or hold a mutex")
	}
}

func (g *guard) leave() { g.busy.Store(false) }

// yield is replaced by tests, before they start goroutines, to choose what runs
// next.
var yield = func() {}

// step stands between two atomic steps of an algorithm. It does nothing unless
// invariant.Enabled.
func step() {
	if invariant.Enabled {
		yield()
	}
}
