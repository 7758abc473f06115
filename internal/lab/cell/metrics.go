package cell

import "strings"

// Metric names carry their unit behind the colon, as those of runtime/metrics
// do. A Record holds only what was measured; percentiles are computed from the
// histograms by package stat, which uses the same naming.
const (
	// Operations of the measured phase, both parts.
	Ops = "/op/count:ops"
	// Wall time per operation, from the part that reads no clock between
	// operations (closed-loop workloads only).
	OpTime = "/op/time:ns"
	// CPU time (user and system, all threads) per operation in that part.
	OpCPU = "/op/cpu:ns"
	// Operations per second of wall time: of the part without clocks for
	// closed loops, of the whole phase for open loops.
	Throughput = "/op/throughput:ops/s"
	// Heap allocation per operation.
	OpBytes  = "/op/bytes:B"
	OpAllocs = "/op/allocs:allocs"

	// Open loop: operations that were due, done, and the largest number that
	// were due but not yet begun.
	Scheduled  = "/pacer/scheduled:ops"
	Done       = "/pacer/done:ops"
	MaxBacklog = "/pacer/backlog/max:ops"
	// Dropped is derived: due and never done.
	Dropped = "/pacer/dropped:ops"

	WallTime = "/wall:seconds"
	// RunTime is what a run took of the time of whoever waits for it: the wall time,
	// starting, loading and stopping it.
	RunTime   = "/run:seconds"
	UserCPU   = "/cpu/user:seconds"
	SystemCPU = "/cpu/system:seconds"
	TotalCPU  = "/cpu/total:seconds"
	// CPUBusy is derived: CPUs kept busy, the CPU time over the wall time.
	CPUBusy = "/cpu/busy:cpus"
	// CPUWait is how long the threads of an exec cell's program were ready to run
	// and had no CPU: behind other processes, or throttled by a quota.
	CPUWait = "/cpu/wait:seconds"

	// What the control group of a cell's Pod counted: how long its quota held
	// threads back, summed over CPUs; the share of its periods of 100 ms in which
	// it did; and the most memory charged to it, page cache included.
	PodThrottled      = "/pod/throttled/total:seconds"
	PodThrottledShare = "/pod/throttled/periods:ratio"
	PodMemoryPeak     = "/pod/memory/peak:bytes"

	HeapMax  = "/memory/heap/max:bytes" // largest sampled live plus unswept heap objects
	HeapEnd  = "/memory/heap/end:bytes"
	HeapLive = "/memory/heap/live:bytes" // marked live by the last cycle
	GoalMax  = "/memory/goal/max:bytes"
	SysMax   = "/memory/sys/max:bytes" // mapped by the Go runtime
	RSSPeak  = "/memory/rss/peak:bytes"

	MinorFaults = "/memory/faults/minor:faults"
	MajorFaults = "/memory/faults/major:faults"

	GCCycles     = "/gc/cycles:cycles"
	GCForced     = "/gc/cycles/forced:cycles"
	GCPauseTotal = "/gc/pause/total:seconds"
	GCPauseLast  = "/gc/pause/last:seconds"
	// GCPauseMean is derived: the pauses of a collection, on average.
	GCPauseMean = "/gc/pause/mean:seconds"
	GCPauseMax  = "/gc/pause/max:seconds" // upper bound of the highest occupied bucket
	// GC CPU time, split as /cpu/classes/gc/* splits it. The runtime updates
	// it at the end of a cycle: the share of an unfinished one is missing.
	GCCPUAssist    = "/gc/cpu/assist:seconds"
	GCCPUDedicated = "/gc/cpu/dedicated:seconds"
	GCCPUIdle      = "/gc/cpu/idle:seconds"
	GCCPUPause     = "/gc/cpu/pause:seconds"
	GCCPUTotal     = "/gc/cpu/total:seconds"
	GCCPUScavenge  = "/gc/cpu/scavenge:seconds"
	// GCCPUScale is what the CPU times of gctrace, which are the time of threads
	// whether on a CPU or not, were multiplied with to give GCCPUTotal and its
	// parts: the share of that time that the threads were on one.
	GCCPUScale = "/gc/cpu/scale:ratio"
	// GCCPUShare is GC CPU time over all CPU time of the process, 0 to 1.
	GCCPUShare = "/gc/cpu/share:ratio"

	// gctrace lines of an exec cell that reached us relayed in one piece:
	// printed by a subprocess through its parent, or made up by the program.
	GCRelayed = "/gc/relayed:lines"

	ExitStatus = "/exit:status"

	// FigurePrefix begins the names of figures that a program or a load
	// generator printed itself; what follows is its unit or name.
	FigurePrefix = "/figure:"
)

// Names of histograms in Record.Latency and Record.Buckets.
const (
	// HistResponse is response time: from when the operation was due.
	HistResponse = "response"
	// HistService is service time: from when the operation began.
	HistService = "service"
	// HistPause is the runtime's distribution of stop-the-world pauses.
	HistPause = "pause"
	// HistSched is the runtime's distribution of scheduler latency.
	HistSched = "sched"
)

// Unit returns the unit of a metric: what follows the colon.
func Unit(metric string) string {
	_, unit, _ := strings.Cut(metric, ":")
	return unit
}

// HigherIsBetter reports whether a larger value of the metric is the better
// one. Everything is a cost, except rates (whose unit ends in "/s", as that of
// Throughput and of MB/s in imported results) and the operations done.
func HigherIsBetter(metric string) bool {
	return strings.HasSuffix(metric, "/s") || metric == Done || metric == Ops
}
