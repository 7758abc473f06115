package gcctlhttp

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/base/rusage"
)

// A State is what the Handler shows. Counters only grow while the process lives;
// figures that the platform does not report are 0.
type State struct {
	GOGC       int   `json:"gogc"`        // in force; -1 for off
	LimitBytes int64 `json:"limit_bytes"` // GOMEMLIMIT in force; 0 for none

	Held            bool    `json:"held"` // set by a POST
	HeldForSeconds  float64 `json:"held_for_seconds,omitempty"`
	FoundGOGC       int     `json:"found_gogc"` // what will be restored, or is in force
	FoundLimitBytes int64   `json:"found_limit_bytes"`

	PID           int     `json:"pid"`
	UptimeSeconds float64 `json:"uptime_seconds"` // since New

	LiveBytes     int64 `json:"live_bytes"` // marked by the last collection
	HeapBytes     int64 `json:"heap_bytes"`
	GoalBytes     int64 `json:"goal_bytes"` // 0 for none
	MappedBytes   int64 `json:"mapped_bytes"`
	ResidentBytes int64 `json:"resident_bytes"`
	FreeBytes     int64 `json:"free_bytes"`            // of the heap: kept for future objects
	GroupBytes    int64 `json:"group_bytes,omitempty"` // memory limit of the control group; 0 for none

	AllocatedBytes int64 `json:"allocated_bytes"` // counter
	Cycles         int64 `json:"cycles"`          // counter
	// Counters: collection, as the runtime accounts it at the end of a cycle, and
	// all CPU time of the process, as the kernel accounts it now.
	GCCPUSeconds float64 `json:"gc_cpu_seconds"`
	CPUSeconds   float64 `json:"cpu_seconds"`
	Work         float64 `json:"work,omitempty"` // counter, of Config.Work
}

var names = []string{
	"/gc/gogc:percent", "/gc/gomemlimit:bytes", "/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes",
	"/gc/heap/goal:bytes", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
	"/gc/heap/allocs:bytes", "/gc/cycles/total:gc-cycles", "/cpu/classes/gc/total:cpu-seconds",
	"/cpu/classes/gc/mark/idle:cpu-seconds", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/unused:bytes",
}

func (h *Handler) state() State {
	h.mu.Lock()
	held, until := h.held, h.until
	h.mu.Unlock()
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	whole := func(i int) int64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(samples[i].Value.Uint64())
	}
	seconds := func(i int) float64 {
		if samples[i].Value.Kind() != metrics.KindFloat64 {
			return 0
		}
		return samples[i].Value.Float64()
	}
	s := State{
		GOGC: int(int32(whole(0))), LimitBytes: bounded(whole(1)), PID: os.Getpid(),
		UptimeSeconds: time.Since(h.born).Seconds(), LiveBytes: whole(2), HeapBytes: whole(3), GoalBytes: bounded(whole(4)),
		MappedBytes: whole(5) - whole(6), ResidentBytes: resident(), FreeBytes: whole(11) + whole(12),
		AllocatedBytes: whole(7), Cycles: whole(8),
		GCCPUSeconds: seconds(9) - seconds(10), CPUSeconds: max(rusage.Self().CPU(), 0),
	}
	s.FoundGOGC, s.FoundLimitBytes = s.GOGC, s.LimitBytes
	if held != nil {
		found := held.Stats()
		s.Held, s.HeldForSeconds = true, max(time.Until(until).Seconds(), 0)
		s.FoundGOGC, s.FoundLimitBytes = found.FoundPercent, bounded(found.FoundLimitBytes)
	}
	if runtime.GOOS == "linux" {
		s.GroupBytes = cgroup.Read(os.DirFS("/")).MemoryBytes
	}
	if h.cfg.Work != nil {
		s.Work = h.cfg.Work()
	}
	return s
}

// bounded returns n, or 0 for values that mean no bound: the largest number, or the
// negative goal of a collector that is off.
func bounded(n int64) int64 {
	if n < 0 || n == math.MaxInt64 {
		return 0
	}
	return n
}

// resident returns the resident memory of this process on Linux, 0 elsewhere.
func resident() int64 {
	data, _ := os.ReadFile("/proc/self/statm") // total resident shared ..., in pages
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
