package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 001, by the request that is built. What the modes are
// stands in the workload: alias is the document's own "standard pool" benchmark,
// slab its slab, pooled a pool that does the same work as the slab.
var (
	typicalRun = Experiment{
		Run:   "shockwave --shape typical --mode pooled,slab,alias,connection --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 500_000 --reps 6",
	}
	largeRun = Experiment{
		Run:   "shockwave --shape large --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 15_000 --reps 5", Full: "--iterations 100_000 --reps 6",
	}
	headersRun = Experiment{
		Run:   "shockwave --shape headers --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 15_000 --reps 5", Full: "--iterations 150_000 --reps 6",
	}
	lineRun = Experiment{
		Run:   "shockwave --shape line --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 200_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	parallelRun = Experiment{
		Run:   "shockwave --shape line --workers 0 --mode pooled,slab --gomaxprocs 1,2 --duration 0 --latency off",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 3_000_000 --reps 6",
	}
	rowRun = Experiment{
		Run:   "shockwave --shape typical --held 100 --mode pooled,slab --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 500_000 --reps 6",
	}
	activeRun = Experiment{
		Run:   "shockwave --shape typical --held 1000 --mode pooled,slab,heap --gomaxprocs 1 --duration 0",
		Quick: "--iterations 10_000 --reps 5", Full: "--iterations 50_000 --reps 6",
	}
	goArenaRun = Experiment{
		Run:   "shockwave --shape typical --mode pooled,goarena --collector goarenas --gomaxprocs 1 --duration 0",
		Quick: "--held 100 --iterations 1_000 --reps 5", Full: "--held 1000 --iterations 20_000 --reps 6",
	}
	warmupRun = Experiment{
		Run:   "shockwave-trials --trial warmup --count 10_000",
		Quick: "--reps 5", Full: "--reps 6",
	}
	pipelinedRun = Experiment{
		Run:   "shockwave-trials --trial pipelined --count 16",
		Quick: "--reps 5", Full: "--reps 6",
	}
)

const (
	heldBytes = "/shockwave/held:bytes"
)

// slabOverPool is an effect of the document's slab over a pool.
func slabOverPool(metric string, says float64) Effect {
	return Effect{Of: Side{metric, "mode=slab"}, Over: Side{metric, "mode=pooled"}, Says: says}
}

const unequalWork = "The document's two sides do different work. Its \"standard pool\" benchmarks have no pool and copy no request; its slab copies every part. Here both copy the same request and look at each part."

func init() {
	Register(&Document{ID: "001", Title: "Shockwave Memory Management Modes", Claims: []Claim{
		{
			ID: "001/typical", Section: "1. HTTP Request Handling", Quote: "Standard Pool 2.5x faster", Figure: "150.1 ns against 379.5 ns: 2.5x",
			Predicts: "for a typical request the slab takes 2.5 times the CPU time of a pool", Experiment: typicalRun,
			Test:    slabOverPool(cell.OpCPU, 2.53),
			Refutes: "equal times, or a faster slab", Why: unequalWork,
		}, {
			ID: "001/slab-as-such", Section: "Key Takeaways", Quote: "Standard Pool is 2-20x faster for most workloads", Figure: "2x or more",
			Predicts: "a slab that a connection keeps takes twice the CPU time of a pool", Experiment: typicalRun,
			Test:    Effect{Of: Side{cell.OpCPU, "mode=connection"}, Over: Side{cell.OpCPU, "mode=pooled"}, Says: 2},
			Refutes: "a slab about as fast as a pool",
			Why:     "What is slow is the document's slab: a fresh 256 KB slab for each request, put back behind a new pointer, atomic statistics, slices that grow anew. One that a connection keeps costs about what a pool does.",
		}, {
			ID: "001/standard-is-a-pool", Section: "Executive Summary", Quote: "Standard Pool (default) - sync.Pool based", Figure: "3 allocs/op in its table",
			Predicts: "its benchmark of a typical request allocates nothing, as a pool does", Experiment: typicalRun,
			Test:    Range{Of: Side{cell.OpAllocs, "mode=alias"}, Max: 0.5},
			Refutes: "allocations in the benchmark of the pool",
			Why:     "There is no pool in that benchmark: it makes two slices and a body for each request, 768 bytes, as its table says too.",
		}, {
			ID: "001/pool-allocates-nothing", Section: "When to Use Each Mode", Quote: "Zero allocations for typical requests", Figure: "0 allocs/op",
			Predicts: "a pool allocates nothing for a typical request", Experiment: typicalRun,
			Test:    Range{Of: Side{cell.OpAllocs, "mode=pooled"}, Max: 0.1},
			Refutes: "one allocation or more", Why: "The pool lost what it held, to collections or to a processor that another goroutine took.",
		}, {
			ID: "001/typical-memory", Section: "1. HTTP Request Handling", Quote: "Green Tea uses 52% less memory", Figure: "365 B against 768 B",
			Predicts: "the slab allocates half as many bytes for a typical request as a pool", Experiment: typicalRun,
			Test:    slabOverPool(cell.OpBytes, 0.475),
			Refutes: "more bytes from the slab than from the pool",
			Why:     unequalWork + " A pool allocates nothing; the slab makes a new pointer and new slices each time.",
		}, {
			ID: "001/large", Section: "1. HTTP Request Handling", Quote: "Standard Pool 2.75x faster throughput", Figure: "800.7 ns against 2,202 ns: 2.75x",
			Predicts: "with a body of 64 KB the slab takes 2.75 times the CPU time of a pool", Experiment: largeRun,
			Test:    slabOverPool(cell.OpCPU, 2.75),
			Refutes: "equal times: both copy 64 KB", Why: unequalWork + " Copying 64 KB is most of it on both sides.",
		}, {
			ID: "001/bandwidth", Section: "Memory Bandwidth", Quote: "Standard Pool achieves 81.8 GB/s throughput", Figure: "81.8 GB/s",
			Predicts: "its benchmark takes as long as a pool into which the body is copied, within 20 %", Experiment: largeRun,
			Test:    Range{Of: Side{cell.OpCPU, "mode=alias"}, Over: Side{cell.OpCPU, "mode=pooled"}, Min: 0.8, Max: 1.25},
			Refutes: "a benchmark that takes less than the copying alone",
			Why:     "No byte of a body moves in that benchmark: a slice of 64 KB is zeroed on the stack and dropped. 81.8 GB/s is the size of the slice over that time.",
		}, {
			ID: "001/headers", Section: "1. HTTP Request Handling", Quote: "Green Tea GC wins for header-heavy workloads", Figure: "1,977 ns to 1,450 ns: 0.73x",
			Predicts: "with 32 headers the slab takes 0.73 times the CPU time of a pool", Experiment: headersRun,
			Test:    slabOverPool(cell.OpCPU, 0.733),
			Refutes: "a slab that is as slow or slower", Why: unequalWork + " With many headers its standard side makes each string by +, which no parser does.",
		}, {
			ID: "001/48-percent", Section: "1. HTTP Request Handling", Quote: "Green Tea 48% faster, 80% fewer allocations", Figure: "48 %",
			Predicts: "the slab takes 1/1.48 of the CPU time of its own standard benchmark", Experiment: headersRun,
			Test:    Effect{Of: Side{cell.OpCPU, "mode=slab"}, Over: Side{cell.OpCPU, "mode=alias"}, Says: 1 / 1.48},
			Refutes: "a difference of less, or the other way",
			Why:     "From 1,977 to 1,450 ns it is 27 % less time or 36 % more speed; 48 % it is in no reading. Today's Go makes the strings of the other side for less, too.",
		}, {
			ID: "001/headers-allocations", Section: "1. HTTP Request Handling", Quote: "80% fewer allocations", Figure: "66 to 13: 0.2x",
			Predicts: "with 32 headers the slab makes a fifth of the allocations of its own standard benchmark", Experiment: headersRun,
			Test:    Effect{Of: Side{cell.OpAllocs, "mode=slab"}, Over: Side{cell.OpAllocs, "mode=alias"}, Says: 0.2},
			Refutes: "as many allocations", Why: "The standard side allocates because it makes each string by +.",
		}, {
			ID: "001/headers-allocations-pool", Section: "When to Use Each Mode", Quote: "80% fewer allocations for header-heavy requests", Figure: "0.2x",
			Predicts: "with 32 headers the slab makes a fifth of the allocations of a pool", Experiment: headersRun,
			Test:    slabOverPool(cell.OpAllocs, 0.2),
			Refutes: "more allocations than a pool makes", Why: "A pool makes none.",
		}, {
			ID: "001/gc-cycles", Section: "GC Overhead Measurement", Quote: "Standard Pool 1.000, Green Tea 256.0 GC cycles", Figure: "256x",
			Predicts: "the slab brings at least ten times the collections of a pool", Experiment: lineRun,
			Test:    slabOverPool(cell.GCCycles, 256),
			Refutes: "as many collections with a pool", Why: "Both allocate about as much.",
		}, {
			ID: "001/pool-gc", Section: "GC Overhead Measurement", Quote: "Standard Pool negligible GC pressure", Figure: "1.000 GC cycles",
			Predicts: "with a pool hundreds of thousands of requests bring at most one collection", Experiment: lineRun,
			Test:    Range{Of: Side{cell.GCCycles, "mode=pooled"}, Max: 1},
			Refutes: "more collections", Why: "The pool allocates.",
		}, {
			ID: "001/allocation-rate", Section: "Allocations Per Request", Quote: "Speedup: Standard Pool 11.3x faster", Figure: "19.5 ns against 221 ns: 11.3x",
			Predicts: "for a small request the slab takes 11.3 times the CPU time of a pool", Experiment: lineRun,
			Test:    slabOverPool(cell.OpCPU, 11.3),
			Refutes: "equal times", Why: unequalWork,
		}, {
			ID: "001/51-million", Section: "Allocations Per Request", Quote: "zero allocations enable 51M req/sec throughput", Figure: "19.5 ns a request",
			Predicts: "its benchmark of a small request takes as long as a pool that copies the request, within a factor of 2", Experiment: lineRun,
			Test:    Range{Of: Side{cell.OpCPU, "mode=alias"}, Over: Side{cell.OpCPU, "mode=pooled"}, Min: 0.5, Max: 2},
			Refutes: "a benchmark that takes less than half of what it takes to copy the request",
			Why:     "Nothing is there to be slow: two strings are assigned, nothing is read and nothing kept. 51 million and 214 million requests a second are what an empty loop does; the column named ops/sec is the number of iterations (8,099,876 of 150.1 ns are 1.2 s, and so is every other row).",
		}, {
			ID: "001/locality", Section: "Cache Locality Analysis", Quote: "Standard Pool 2x faster despite more allocations", Figure: "6,367 ns against 13,108 ns: 2.06x",
			Predicts: "with 100 requests held the slab takes 2.06 times the CPU time of a pool", Experiment: rowRun,
			Test:    slabOverPool(cell.OpCPU, 2.06),
			Refutes: "equal times", Why: unequalWork,
		}, {
			ID: "001/parallel", Section: "Throughput Under Load", Quote: "Standard Pool 20.5x higher throughput", Figure: "5.633 ns against 122 ns: 21.7x", CPUs: 2,
			Predicts: "on two processors the slab takes 20.5 times the CPU time of a pool", Experiment: parallelRun,
			Test:    Effect{Of: Side{cell.OpCPU, "mode=slab gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=pooled gomaxprocs=2"}, Says: 20.5},
			Refutes: "equal times", Why: unequalWork + " Its standard side reads nothing that another core writes.",
		}, {
			ID: "001/linear", Section: "Throughput Under Load", Quote: "Standard Pool scales linearly with cores", Figure: "8 cores = 8x throughput", CPUs: 2,
			Predicts: "on two processors a request takes the CPU time that it takes on one, within a quarter", Experiment: parallelRun,
			Test:    Range{Of: Side{cell.OpCPU, "mode=pooled gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=pooled gomaxprocs=1"}, Max: 1.25},
			Refutes: "more CPU time a request",
			Why:     "Cores share memory bandwidth, and two hardware threads of a core share more than that.",
		}, {
			ID: "001/slab-contention", Section: "Throughput Under Load", Quote: "Green Tea GC shows contention on slab pool under high parallelism", Figure: "221 ns on one core, 122 ns on eight: 4.4x the CPU time", CPUs: 2,
			Predicts: "on two processors a request takes twice the CPU time that it takes on one", Experiment: parallelRun,
			Test:    Effect{Of: Side{cell.OpCPU, "mode=slab gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=slab gomaxprocs=1"}, Says: 2},
			Refutes: "the same CPU time a request",
			Why:     "Each request has a slab pool of its own, and a sync.Pool keeps one list a processor. What two cores do share are its counters.",
		}, {
			ID: "001/active-slab", Section: "Memory Footprint (1000 Active Requests)", Quote: "Green Tea uses 25% less heap", Figure: "6 MB against 8 MB: 0.75x",
			Predicts: "1,000 active requests hold 0.75 times as many bytes in slabs as in a pool", Experiment: activeRun,
			Test:    slabOverPool(heldBytes, 0.75),
			Refutes: "as many bytes or more", Why: "Each active request holds a slab of 256 KB, which is the larger part of 256 MB for 1,000.",
		}, {
			ID: "001/active-pool", Section: "Memory Footprint (1000 Active Requests)", Quote: "Standard Pool ~8 MB", Figure: "8 MB",
			Predicts: "1,000 active requests hold 4 to 12 MB in a pool", Experiment: activeRun,
			Test:    Range{Of: Side{heldBytes, "mode=pooled"}, Min: 4e6, Max: 12e6},
			Refutes: "less or more", Why: "Requests of this size need about 1 KB each; what a pool holds beyond that is the size class of its buffers.",
		}, {
			ID: "001/active-arena", Section: "Memory Footprint (1000 Active Requests)", Quote: "Arena would have smallest footprint", Figure: "4 MB against 8 MB: 0.5x",
			Predicts: "active requests, 1,000 or in the quick size 100, occupy half of the memory in Go's arenas that they occupy in a pool", Experiment: goArenaRun,
			Test:    Effect{Of: Side{heldBytes, "mode=goarena"}, Over: Side{heldBytes, "mode=pooled"}, Says: 0.5},
			Refutes: "as much memory or more", Why: "An arena takes a chunk of 8 MB as soon as something is allocated in it, and counts it as heap: 8 GB for 1,000 requests.",
		}, {
			ID: "001/arena-speed", Section: "Capacity Planning", Quote: "Arena (est.) 250M+ req/s, <5 ns", Figure: "5 ns against 5.6 ns: 0.89x",
			Predicts: "a request in an arena takes less CPU time than one in a pool", Experiment: goArenaRun,
			Test:    Effect{Of: Side{cell.OpCPU, "mode=goarena"}, Over: Side{cell.OpCPU, "mode=pooled"}, Says: 0.89},
			Refutes: "as much CPU time or more", Why: "Making an arena and giving it back are a system call and a great deal of bookkeeping each; they pay for many objects, not for one request.",
		}, {
			ID: "001/arena-gc", Section: "Executive Summary", Quote: "Arena: Zero GC pressure", Figure: "~0 ms",
			Predicts: "with arenas no collection runs", Experiment: goArenaRun,
			Test:    Range{Of: Side{cell.GCCycles, "mode=goarena"}, Max: 0.5},
			Refutes: "one collection or more", Why: "An arena counts towards the heap goal like other memory, so it drives collections.",
		}, {
			ID: "001/collector", Section: "Executive Summary", Quote: "Green Tea GC: reduced allocations", Figure: "52% fewer: 0.48x",
			Predicts:   "Go's Green Tea collector makes 0.48 times the allocations of the one before",
			Experiment: Experiment{Run: "shockwave --shape headers --mode heap --collector classic,greentea --gomaxprocs 1 --duration 0", Quick: "--iterations 20_000 --reps 5", Full: "--iterations 200_000 --reps 6"},
			Test:       Effect{Of: Side{cell.OpAllocs, "collector=greentea"}, Over: Side{cell.OpAllocs, "collector=classic"}, Says: 0.48},
			Refutes:    "as many allocations",
			Why:        "The document's mode is a slab allocator. Green Tea is the name of a collector of Go, the default since Go 1.26: it marks in another order, and does not change what a program allocates.",
		}, {
			ID: "001/warmup", Section: "Tuning", Quote: "WarmupPools(10000) // Pre-allocate 10k objects", Figure: "10,000 objects",
			Predicts: "warming up makes 10,000 objects in a pool", Experiment: warmupRun,
			Test:    Range{Of: Side{Metric: "/trial/made:objects"}, Min: 9000, Max: 10000},
			Refutes: "fewer objects",
			Why:     "It gets one object and puts it back, 10,000 times: the second Get returns what the first Put gave back. One object is made, and the first 10,000 requests at once make the others.",
		}, {
			ID: "001/pipelining", Section: "Implementation Status", Quote: "Production Ready", Figure: "all of 16 pipelined requests",
			Predicts: "all of 16 requests sent in one go are answered", Experiment: pipelinedRun,
			Test:    Range{Of: Side{Metric: "/trial/answered:requests"}, Min: 15.5, Max: 16},
			Refutes: "fewer answers",
			Why:     "A buffered reader reads ahead. Taken from a pool for each request and given back after it, it takes the requests behind the first one along.",
		}, {
			ID: "001/statistics", Section: "Monitoring", Quote: "http11.GetPoolStats() - Pool hit rates",
			Untestable: "there is nothing to measure: the engine's function returns constants, zero for each pool, whatever was taken from it. The counts of package pool and of http11 come from their operations, and their tests hold them to those.",
		}, {
			ID: "001/servers", Section: "Implementation Status", Quote: "Battle-tested (Go stdlib patterns)",
			Untestable: "the engine is not part of the seed documents. Read beside them, two of its three servers do not compile, and of 46 malformed requests its parser takes 14, some of which smuggle a second request past a proxy. The parser of http11 is tested with those.",
		},
	}})
}
