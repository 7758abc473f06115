//go:build unix

package workload

import (
	"os"
	"runtime"
	"syscall"
)

func usageOf(state *os.ProcessState) (usage, bool) {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return usage{}, false
	}
	peak := int64(r.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // in bytes there, in KiB elsewhere
		peak <<= 10
	}
	return usage{peak, float64(r.Minflt), float64(r.Majflt)}, true
}
