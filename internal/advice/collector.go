package advice

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// collector are the functions of the runtime, by how their names begin, below
// which CPU time is spent on collection: marking in the background and in
// assists, sweeping, scavenging, and what begins and ends a cycle.
var collector = []string{
	"runtime.gcBgMarkWorker", "runtime.gcDrain", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMarkDone",
	"runtime.gcMarkTermination",
	"runtime.wbBufFlush", "runtime.bgsweep", "runtime.sweepone", "runtime.(*sweepLocked).", "runtime.bgscavenge",
}

// collects reports whether a stack is of the collector.
func collects(stack []profile.Line) bool {
	return slices.ContainsFunc(stack, func(l profile.Line) bool {
		return slices.ContainsFunc(collector, func(c string) bool { return strings.HasPrefix(l.Function.Name, c) })
	})
}
