package advice

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// collector are prefixes of the runtime functions below which CPU time is spent on
// collection: marking in the background and in assists, sweeping, scavenging, and the
// beginning and end of a cycle.
var collector = []string{
	"runtime.gcBgMarkWorker", "runtime.gcDrain", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMarkDone",
	"runtime.gcMarkTermination",
	"runtime.wbBufFlush", "runtime.bgsweep", "runtime.sweepone", "runtime.(*sweepLocked).", "runtime.bgscavenge",
}

// collects reports whether a stack belongs to the collector.
func collects(stack []profile.Line) bool {
	return slices.ContainsFunc(stack, func(l profile.Line) bool {
		return slices.ContainsFunc(collector, func(c string) bool { return strings.HasPrefix(l.Function.Name, c) })
	})
}
