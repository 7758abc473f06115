package http11

import "github.com/isobar-go/isobar/internal/base/invariant"

// Faulting reports a build that unmaps off-heap memory when its request ends: a
// reader in the middle of a copy faults there, as intended.
const Faulting = invariant.Enabled && !invariant.Race

// Engines lists this platform's engines, for tests outside the package.
var Engines = engines

// The faults that SetFault knows. Each breaks the server in a way that a test
// must detect.
const (
	// FaultKeepAdapted: the body and the writer of Adapt stay usable after the
	// handler, and act on the connection's current request.
	FaultKeepAdapted = "keepAdapted"
	// FaultReuseContexts: a kept Context belongs to the next request.
	FaultReuseContexts = "reuseContexts"
)

// SetFault enables a fault for the whole process, before any server serves. The
// empty name means none.
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
