package cell

import "strings"

// Metric names carry their unit after the colon, as in runtime/metrics. A
// Record holds only measured values; package stat computes percentiles from the
// histograms and uses the same naming.
const (
	// Operations of the whole measured phase.
	Ops = "/op/count:ops"
	// Wall time per operation, from the part without clock readings between
	// operations (closed-loop workloads only).
	OpTime = "/op/time:ns"
	// CPU time (user and system, all threads) per operation in that part.
	OpCPU = "/op/cpu:ns"
	// Operations per second of wall time: of the part without clock readings for
	// closed loops, of the whole phase for open loops.
	Throughput = "/op/throughput:ops/s"
	// Heap allocation per operation.
	OpBytes  = "/op/bytes:B"
	OpAllocs = "/op/allocs:allocs"

	// SlowestStopped is the share of the slowest operation in which the world was
	// stopped for a collection, 0 to 1; of cells with the profile phases.
	SlowestStopped = "/op/slowest/stopped:ratio"

	// Open loop: operations that were due, that were done, and the largest number
	// that were due but not yet started.
	Scheduled  = "/pacer/scheduled:ops"
	Done       = "/pacer/done:ops"
	MaxBacklog = "/pacer/backlog/max:ops"
	// Dropped is derived: due and never done.
	Dropped = "/pacer/dropped:ops"

	WallTime = "/wall:seconds"
	// RunTime is how long the user waits for a run: its wall time with starting,
	// loading and stopping the program.
	RunTime   = "/run:seconds"
	UserCPU   = "/cpu/user:seconds"
	SystemCPU = "/cpu/system:seconds"
	TotalCPU  = "/cpu/total:seconds"
	// CPUBusy is derived: CPUs kept busy, the CPU time over the wall time.
	CPUBusy = "/cpu/busy:cpus"
	// CPUWait is how long the threads of an exec cell's program were ready to run
	// but had no CPU: behind other processes, or throttled by a quota. Threads count
	// by their CPU time: one that hardly runs counts little.
	CPUWait = "/cpu/wait:seconds"

	// The counts of the control group of a cell's Pod: how long its quota throttled
	// threads, summed over CPUs; the share of its 100 ms periods with throttling;
	// and the most memory charged to it, including page cache.
	PodThrottled      = "/pod/throttled/total:seconds"
	PodThrottledShare = "/pod/throttled/periods:ratio"
	PodMemoryPeak     = "/pod/memory/peak:bytes"

	HeapMax  = "/memory/heap/max:bytes" // largest sampled live plus unswept heap objects
	HeapEnd  = "/memory/heap/end:bytes"
	HeapLive = "/memory/heap/live:bytes" // marked live by the last cycle
	GoalMax  = "/memory/goal/max:bytes"
	SysMax   = "/memory/sys/max:bytes" // mapped by the Go runtime
	// RSSPeak is the most resident memory. Where several processes of a program ran at once, it is
	// the most that they occupied together, and Processes is how many of them were large.
	RSSPeak   = "/memory/rss/peak:bytes"
	Processes = "/program/processes:count"
	// RSSLargest is the most resident memory of one process. A record lacks it where one was all
	// that the program ran.
	RSSLargest = "/memory/rss/largest:bytes"

	MinorFaults = "/memory/faults/minor:faults"
	MajorFaults = "/memory/faults/major:faults"

	GCCycles     = "/gc/cycles:cycles"
	GCForced     = "/gc/cycles/forced:cycles"
	GCPauseTotal = "/gc/pause/total:seconds"
	GCPauseLast  = "/gc/pause/last:seconds"
	// GCPauseMean is derived: the mean pause of a collection.
	GCPauseMean = "/gc/pause/mean:seconds"
	GCPauseMax  = "/gc/pause/max:seconds" // upper bound of the highest occupied bucket
	// GC CPU time, split as in /cpu/classes/gc/*. The runtime updates it at the
	// end of a cycle, so an unfinished cycle is missing.
	GCCPUAssist    = "/gc/cpu/assist:seconds"
	GCCPUDedicated = "/gc/cpu/dedicated:seconds"
	GCCPUIdle      = "/gc/cpu/idle:seconds"
	GCCPUPause     = "/gc/cpu/pause:seconds"
	GCCPUTotal     = "/gc/cpu/total:seconds"
	GCCPUScavenge  = "/gc/cpu/scavenge:seconds"
	// GCCPUScale is the factor that converts the CPU times in gctrace to GCCPUTotal and its
	// parts. gctrace counts threads whether or not they are on a CPU; the factor is the share of
	// that time that they were, each thread weighted by its CPU time.
	GCCPUScale = "/gc/cpu/scale:ratio"
	// GCCPUShare is GC CPU time divided by all CPU time of the process, 0 to 1.
	GCCPUShare = "/gc/cpu/share:ratio"

	// GCWorkPrefix begins the shares of CPU time in collecting functions of the runtime, for
	// cells with a CPU profile; the function and ":ratio" follow.
	GCWorkPrefix = "/gc/work/"

	// gctrace lines of an exec cell that arrived in one piece: the program relayed them for a
	// subprocess, or made them up.
	GCRelayed = "/gc/relayed:lines"

	ExitStatus = "/exit:status"

	// LoadDrift is a server's median response time in the second half of the load
	// over that in the first.
	LoadDrift = "/load/drift:ratio"
	// LoadBegan is when the recorded load began, since the server started.
	LoadBegan = "/load/began:seconds"
	// WarmUp is how long a server was loaded before recording, if no parameter gives it.
	WarmUp = "/load/warmup:seconds"

	// FigurePrefix begins the names of figures that a program or a load generator
	// printed; its unit or name follows.
	FigurePrefix = "/figure:"
)

// Names of the histograms in Record.Latency and Record.Buckets.
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

// Unit returns the unit of a metric, the part after the colon.
func Unit(metric string) string {
	_, unit, _ := strings.Cut(metric, ":")
	return unit
}

// HigherIsBetter reports whether a larger value of the metric is better. Every
// metric is a cost, except rates (with a unit that ends in "/s", such as
// Throughput, or MB/s in imported results) and the number of operations done.
func HigherIsBetter(metric string) bool {
	return strings.HasSuffix(metric, "/s") || metric == Done || metric == Ops
}

// Better returns "higher" or "lower", whichever values of the metric are better.
func Better(metric string) string {
	if HigherIsBetter(metric) {
		return "higher"
	}
	return "lower"
}
