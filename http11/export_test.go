package http11

import "github.com/isobar-go/isobar/internal/base/invariant"

// Faulting tells builds in which memory off the heap is unmapped when its request
// ends: a reader in the middle of a copy faults there, as those builds are meant to.
const Faulting = invariant.Enabled && !invariant.Race

// Engines are those of this platform, for tests from outside the package.
var Engines = engines

// The faults that SetFault knows: each makes the server as it must not be, for
// the test that finds it.
const (
	// FaultKeepAdapted: the body and the writer of Adapt stay usable after the
	// handler, and act on the request that the connection serves by then.
	FaultKeepAdapted = "keepAdapted"
	// FaultReuseContexts: a kept Context is that of the next request.
	FaultReuseContexts = "reuseContexts"
)

// SetFault switches a fault on, for the whole process and before any server
// serves. The empty name is none.
func SetFault(name string) {
	switch name {
	case "":
	case FaultKeepAdapted:
		faults.keepAdapted = true
	case FaultReuseContexts:
		faults.reuseContexts = true
	default:
		panic("http11: SetFault: no fault is called " + name)
	}
}
