package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 000 that several claims share. Those of one goroutine
// run on one processor: on two, an idle one marks as well, and how much it finds
// to do changes from run to run.
var (
	allocRun = Experiment{
		Run:   "alloc --gc default,tuned,off --gomaxprocs 1",
		Quick: "--iterations 40_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	maximaRun = Experiment{
		Run:   "alloc --gc default,off --iterations 20_000",
		Quick: "--reps 5", Full: "--reps 6",
	}
	tickerRun = Experiment{
		Run:   "ticker --tickrate 100_000",
		Quick: "--duration 400ms --reps 5", Full: "--duration 5s --reps 6",
	}
	tickpoolRun = Experiment{
		Run:   "tickpool --pool off,on --gc default,off --gomaxprocs 1",
		Quick: "--iterations 250_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	strategiesRun = Experiment{
		Run:   "strategies --strategy syncpool,syncpool-slice,chanpool,arena,plain --gomaxprocs 1 --latency off",
		Quick: "--iterations 100_000 --duration 0 --reps 5", Full: "--iterations 1_000_000 --duration 0 --reps 6",
	}
	plainRun = Experiment{
		Run:   "strategies --strategy plain --gc default,tuned,off --gomaxprocs 1 --latency off",
		Quick: "--iterations 75_000 --duration 0 --reps 5", Full: "--iterations 500_000 --duration 0 --reps 6",
	}
	batchesRun = Experiment{
		Run:   "batches --toggle off,on --garbage 128 --live 10MB",
		Quick: "--interval 150ms --duration 400ms --reps 5", Full: "--interval 1s --duration 3s --reps 6",
	}
)

func init() {
	Register(&Document{ID: "000", Title: "No Garbage Collection in Go: Performance Benchmarks", Claims: []Claim{
		{
			ID: "000/pauses-short", Section: "Introduction", Quote: "pauses are typically measured in microseconds to low milliseconds", Figure: "at most 5 ms",
			Predicts: "the median pause is at most 5 ms", Experiment: allocRun,
			Test:    Range{Of: Side{pauseP50, "gc=default"}, Max: 5e6},
			Refutes: "a median pause above 5 ms", Why: "Pauses grew beyond what the runtime aims at: look at the noise of the run.",
		}, {
			ID: "000/trigger", Section: "Understanding Garbage Collection", Quote: "with 10MB of live data, the next collection will start at about 20MB", Figure: "2x the live heap",
			Predicts:   "the goal of a collection is 1.7 to 2.4 times what the one before marked",
			Experiment: Experiment{Run: "scaling --kind json --goroutines 1 --live 20MB", Quick: "--duration 500ms --reps 5", Full: "--duration 4s --reps 6"},
			Test:       Range{Of: Side{Metric: cell.GoalMax}, Over: Side{Metric: cell.HeapLive}, Min: 1.7, Max: 2.4},
			Refutes:    "another ratio", Why: "Stacks and globals count too since Go 1.18, and the goal is at least 4 MB.",
		}, {
			ID: "000/max-is-a-pause", Section: "Step 2", Quote: "maximum latency (14.5ms) demonstrates the stop-the-world effect", Figure: "14.5 ms",
			Predicts: "the longest operation takes at most 10 times as long as the median pause", Experiment: maximaRun,
			Test:    Range{Of: Side{serviceMax, "gc=default"}, Over: Side{pauseP50, "gc=default"}, Max: 10},
			Refutes: "a longest operation beyond that",
			Why:     "In the document's own figures all 152 pauses together are 13 ms, less than that one operation. Long operations come from the scheduler, from page faults and from assisting the collector, and they are there with the collector off as well.",
		}, {
			ID: "000/outliers-from-gc", Section: "Step 2, key principles", Quote: "these pauses create outliers in the latency distribution",
			Predicts: "without a collector the longest operation takes at most 20 times as long as the median one", Experiment: maximaRun,
			Test:    Range{Of: Side{serviceMax, "gc=off"}, Over: Side{serviceP50, "gc=off"}, Max: 20},
			Refutes: "outliers of the same kind with the collector off",
			Why:     "Outliers are there without a single collection: page faults and the scheduler make them too. The longest one of the document's run without a collector, 25.9 ms, is longer than that with one.",
		}, {
			ID: "000/off-throughput", Section: "Step 3", Quote: "Drastically Lower Throughput: operations per second dropped", Figure: "754,000/s to 351,000/s: 2.1x the time",
			Predicts: "with the collector off an operation takes 2.1 times the CPU time", Experiment: allocRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 2.14},
			Refutes: "the same time per operation, or less, with the collector off",
			Why:     "What counts is the price of a fresh page against that of a collection, which CPU time has in it; both are in the run (page faults, GC CPU). The document counts neither the collector's own threads nor the time between operations.",
		}, {
			ID: "000/off-median", Section: "Step 3", Quote: "the median latency more than doubled", Figure: "1.00 µs to 2.47 µs",
			Predicts: "with the collector off the median operation takes 2.47 times as long", Experiment: allocRun,
			Test:    Effect{Of: Side{serviceP50, "gc=off"}, Over: Side{serviceP50, "gc=default"}, Says: 2.47},
			Refutes: "the same median or a lower one",
			Why:     "Every 10 KB object touches pages that were never touched before; how much that adds depends on the kernel and on how large the rest of the operation is.",
		}, {
			ID: "000/off-memory", Section: "Step 3", Quote: "Memory usage grew from around 237MB to nearly 10GB", Figure: "10.5 kB an operation",
			Predicts: "with the collector off memory grows by 9 to 14 kB an operation", Experiment: allocRun,
			Test:    Range{Of: Side{cell.RSSPeak, "gc=off"}, Over: Side{cell.Ops, "gc=off"}, Min: 9000, Max: 14000},
			Refutes: "less or more", Why: "An operation allocates 10 KB, and none of it comes back.",
		}, {
			ID: "000/off-swaps", Section: "Step 3", Quote: "Paging/swapping: techniques that drastically slow down operations",
			Predicts: "with the collector off there are page faults that read from a disk", Experiment: allocRun,
			Test:    Range{Of: Side{cell.MajorFaults, "gc=off"}, Min: 1, Max: inf},
			Refutes: "no major page fault",
			Why:     "Nothing is swapped: what it costs are minor faults, the first touch of each fresh page, which the kernel must clear. The run counts them.",
		}, {
			ID: "000/off-fragments", Section: "Step 3", Quote: "with many allocations, each new allocation becomes more expensive",
			Predicts:   "five times as many operations with the collector off take twice the CPU time each",
			Experiment: Experiment{Run: "alloc --gc off --gomaxprocs 1 --iterations 20_000,100_000", Quick: "--reps 5", Full: "--reps 6"},
			Test:       Effect{Of: Side{cell.OpCPU, "iterations=100_000"}, Over: Side{cell.OpCPU, "iterations=20_000"}, Says: 2},
			Refutes:    "the same time per operation",
			Why:        "Without a collector nothing is freed, so nothing can fragment: each object comes from the end of the heap, at the same price.",
		}, {
			ID: "000/tuned-tail", Section: "Conclusion", Quote: "increasing GOGC to 500% can provide some latency improvements",
			Predicts: "GOGC=500 lowers the CPU time of an operation by 10 %", Experiment: allocRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=tuned"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 0.9},
			Refutes: "no difference",
			Why:     "Fewer collections are paid with a larger heap, whose fresh pages cost time as well.",
		}, {
			ID: "000/timed-operation", Section: "Step 1", Quote: "measures how long individual operations take", Figure: "removal is part of the operation",
			Predicts:   "removing an object by closing the gap takes no longer than swapping, within 25 %",
			Experiment: Experiment{Run: "retain --remove swap,shift", Quick: "--iterations 40_000 --reps 5", Full: "--iterations 200_000 --reps 6"},
			Test:       Range{Of: Side{cell.OpCPU, "remove=shift"}, Over: Side{cell.OpCPU, "remove=swap"}, Min: 0.8, Max: 1.25},
			Refutes:    "a removal that costs more the longer the list is",
			Why:        "Closing the gap moves thousands of pointers, inside the operation that is timed: part of what it calls latency of allocation is its own list.",
		}, {
			ID: "000/ticker", Section: "Step 4", Quote: "processing 100,000 market updates per second", Figure: "100,000 ticks/s",
			Predicts: "the loop processes at least 99 % of the ticks that are due", Experiment: tickerRun,
			Test:    Range{Of: Side{Metric: cell.Done}, Over: Side{Metric: cell.Scheduled}, Min: 0.99, Max: inf},
			Refutes: "a share below 99 %",
			Why:     "A time.Ticker drops what nobody is there to receive, so most ticks never reach the loop, and none of them is counted or timed: coordinated omission. The document's own table has 557,396 operations in 30 s, 18,500 a second.",
		}, {
			ID: "000/ticker-mean", Section: "Step 4, table", Quote: "Mean 1,005 µs", Figure: "1,005 µs",
			Predicts: "an operation takes 500 µs or more on average", Experiment: tickerRun,
			Test:    Range{Of: Side{Metric: serviceMean}, Min: 500e3, Max: inf},
			Refutes: "a mean below that",
			Why:     "The unit is wrong by a factor of 1,000: 557,396 operations of 1,005 µs would take 560 s, and the run took 30. They are ns.",
		}, {
			ID: "000/ticker-throughput", Section: "Step 4, table", Quote: "Throughput (ops/sec) 994,114.40", Figure: "994,114/s",
			Predicts: "the loop processes 500,000 ticks a second or more", Experiment: tickerRun,
			Test:    Range{Of: Side{Metric: cell.Throughput}, Min: 500e3, Max: inf},
			Refutes: "fewer",
			Why:     "The figure is the inverse of the mean time of an operation, not a rate: the loop waits for its ticker most of the time.",
		}, {
			ID: "000/ticks-off-throughput", Section: "Step 4", Quote: "Disabling GC reduced throughput", Figure: "~11 % decrease",
			Predicts: "with the collector off an operation takes 1.13 times the CPU time", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{cell.OpCPU, "pool=off gc=off"}, Over: Side{cell.OpCPU, "pool=off gc=default"}, Says: 1.13},
			Refutes: "the same or less",
			Why:     "Here a tick makes 200 bytes of garbage beside next to no live heap: collections are cheap, and so are the fresh pages.",
		}, {
			ID: "000/ticks-off-p99", Section: "Step 4", Quote: "Disabled GC showed significantly higher p99 latencies", Figure: "10,135 µs against 5,085 µs",
			Predicts: "with the collector off the 99th percentile is twice as high", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{serviceP99, "pool=off gc=off"}, Over: Side{serviceP99, "pool=off gc=default"}, Says: 1.99},
			Refutes: "the same 99th percentile or a lower one",
			Why:     "Less than one operation of a hundred touches a fresh page: that is seen above the 99th percentile, if at all.",
		}, {
			ID: "000/ticks-off-memory", Section: "Step 4", Quote: "Disabling GC led to 4x higher memory consumption", Figure: "108 MB against 27 MB",
			Predicts: "with the collector off the process occupies 4 times as much", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{cell.RSSPeak, "pool=off gc=off"}, Over: Side{cell.RSSPeak, "pool=off gc=default"}, Says: 4},
			Refutes: "about the same", Why: "It grows with the number of ticks; four times is where the document stopped.",
		}, {
			ID: "000/pool-cycles", Section: "Step 4", Quote: "Object pooling reduced GC cycles by more than 50%", Figure: "13 against 28 cycles",
			Predicts: "with the pool there are half as many collections", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{cell.GCCycles, "pool=on gc=default"}, Over: Side{cell.GCCycles, "pool=off gc=default"}, Says: 0.464},
			Refutes: "as many collections with the pool",
			Why:     "Half of the ticks are still allocated, outside of the pool; and the pool's own 10,000 ticks are live heap.",
		}, {
			ID: "000/pool-memory", Section: "Step 4", Quote: "helped reduce memory usage in the disabled GC case by ~38%", Figure: "67 MB against 108 MB",
			Predicts: "with the collector off the pool saves 38 % of the memory", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{cell.RSSPeak, "pool=on gc=off"}, Over: Side{cell.RSSPeak, "pool=off gc=off"}, Says: 0.62},
			Refutes: "the same memory", Why: "The pool saves one of the two ticks that each operation allocates.",
		}, {
			ID: "000/pool-throughput", Section: "Step 4", Quote: "Object pooling slightly reduced throughput in both GC and no-GC scenarios", Figure: "869,755/s against 880,735/s",
			Predicts: "with the collector off the pool makes an operation take more CPU time, by 3 % or more", Experiment: tickpoolRun,
			Test:    Effect{Of: Side{cell.OpCPU, "pool=on gc=off"}, Over: Side{cell.OpCPU, "pool=off gc=off"}, Says: 1.06},
			Refutes: "the same time or less",
			Why:     "A channel as a pool costs two locked operations a tick, and saves an allocation and the fresh pages under it.",
		}, {
			ID: "000/pool-no-allocation", Section: "Step 4", Quote: "reuse memory rather than continuously allocating new objects", Figure: "0 allocations",
			Predicts: "with the pool an operation allocates nothing", Experiment: tickpoolRun,
			Test:    Range{Of: Side{cell.OpAllocs, "pool=on gc=default"}, Max: 0.01},
			Refutes: "an allocation an operation",
			Why:     "generateTick allocates a tick each time, which is copied into the pooled one: the pool saves one of two allocations.",
		}, {
			ID: "000/pool-reset", Section: "Step 4, TickMemoryPool.Get", Quote: "Reset fields",
			Predicts: "a tick from the pool carries nothing of its former use", Experiment: trials("stale-timestamp", "1000", "10000"),
			Test:    hits(0, 0.02),
			Refutes: "ticks whose Timestamp is that of the tick before", Why: "Get resets six fields of seven: the Timestamp stays.",
		}, {
			ID: "000/syncpool-drops", Section: "Step 5.1", Quote: "After each GC cycle, sync.Pool drops idle objects",
			Predicts: "after one collection nothing is left of what was put into a sync.Pool", Experiment: trials("syncpool-after-1", "100", "1000"),
			Test:    hits(0.98, 1),
			Refutes: "objects that survive a collection",
			Why:     "Since Go 1.13 it takes two collections: what the first one finds idle is kept for one more.",
		}, {
			ID: "000/sharded-pool", Section: "Step 5.2", Quote: "Each goroutine or processor gets its own pool, eliminating contention",
			Predicts: "goroutines use more than one of the 8 shards", Experiment: trials("sharded-pool", "8", "8"),
			Test:    hits(0.5, 1),
			Refutes: "one shard in use", Why: "getShardIndex returns the mask, which is the number of the last shard, whoever asks.",
		}, {
			ID: "000/values", Section: "Step 5.3", Quote: "Returning a pointer allocates on heap, a value may use stack", Figure: "1 and 0 allocations",
			Predicts:   "a returned pointer costs one allocation, a returned value none",
			Experiment: Experiment{Run: "values --return value,pointer --size small", Quick: "--iterations 200_000 --reps 5", Full: "--iterations 2_000_000 --reps 6"},
			Test:       All{Range{Of: Side{cell.OpAllocs, "return=pointer"}, Min: 0.9, Max: 1.1}, Range{Of: Side{cell.OpAllocs, "return=value"}, Max: 0.01}},
			Refutes:    "a value that allocates or a pointer that does not", Why: "Escape analysis decides, and inlining before it.",
		}, {
			ID: "000/large-pointers", Section: "Step 5.3", Quote: "large structs: prefer pointers",
			Predicts:   "returning 1 KB by pointer takes 0.8 times the CPU time of returning it by value",
			Experiment: Experiment{Run: "values --return value,pointer --size large --latency off", Quick: "--iterations 100_000 --reps 5", Full: "--iterations 1_000_000 --reps 6"},
			Test:       Effect{Of: Side{cell.OpCPU, "return=pointer"}, Over: Side{cell.OpCPU, "return=value"}, Says: 0.8},
			Refutes:    "a pointer that takes as long or longer",
			Why:        "A pointer that is returned is an allocation, of cleared memory that must be collected; a copy of 1 KB on the stack is neither.",
		}, {
			ID: "000/prealloc-slice", Section: "Step 5.4", Quote: "One allocation; no reallocations needed", Figure: "1 allocation",
			Predicts:   "with the capacity given a slice of 1,000 is one allocation, without it several, and takes 0.8 times the CPU time or less",
			Experiment: Experiment{Run: "prealloc --kind slice --hint off,on --latency off", Quick: "--iterations 10_000 --reps 5", Full: "--iterations 100_000 --reps 6"},
			Test: All{Range{Of: Side{cell.OpAllocs, "hint=on"}, Min: 0.9, Max: 1.1}, Range{Of: Side{cell.OpAllocs, "hint=off"}, Min: 2, Max: inf},
				Effect{Of: Side{cell.OpCPU, "hint=on"}, Over: Side{cell.OpCPU, "hint=off"}, Says: 0.8}},
			Refutes: "as many allocations, or as much time", Why: "A slice that grows is copied each time it does.",
		}, {
			ID: "000/prealloc-map", Section: "Step 5.4", Quote: "for maps, use the capacity hint to avoid expensive rehashing",
			Predicts:   "with the size given a map of 1,000 takes 0.8 times the CPU time",
			Experiment: Experiment{Run: "prealloc --kind map --hint off,on --latency off", Quick: "--iterations 1_000 --reps 5", Full: "--iterations 10_000 --reps 6"},
			Test:       Effect{Of: Side{cell.OpCPU, "hint=on"}, Over: Side{cell.OpCPU, "hint=off"}, Says: 0.8},
			Refutes:    "as much time", Why: "A map that grows enters its elements again.",
		}, {
			ID: "000/arena-tokens", Section: "Step 5.5", Quote: "Convert without re-allocating: share the arena's bytes", Figure: "0 allocations a token",
			Predicts: "the tokens lie in the arena's memory", Experiment: trials("arena-tokens", "500", "5000"),
			Test:    hits(0, 0.02),
			Refutes: "tokens outside of it", Why: "string(buf) copies: each token is an allocation of its own, and the copy in the arena serves nothing.",
		}, {
			ID: "000/arena-large", Section: "Step 5.5", Quote: "Each Allocate(n) hands you a []byte slice of length n",
			Predicts: "a request above the size of a slab is served", Experiment: trials("arena-large", "50", "500"),
			Test:    hits(0, 0.02),
			Refutes: "panics", Why: "A new slab has the usual size, and slicing beyond it panics.",
		}, {
			ID: "000/arena-slot", Section: "Step 6", Quote: "Allocating from pre-allocated memory blocks with batch resets",
			Predicts: "one buffer does not lie where the one before does", Experiment: trials("arena-slot", "100", "1000"),
			Test:    hits(0, 0.02),
			Refutes: "every buffer in the same place",
			Why:     "The block is as large as one buffer: each overwrites the one before, in a cache that is always warm. Nothing is allocated, and nothing can be kept.",
		}, {
			ID: "000/arena-fastest", Section: "Step 6, table", Quote: "ArenaPool 374.0 ns/op, Plain Alloc 581.4 ns/op", Figure: "0.64x",
			Predicts: "a buffer of 1 KB from an arena takes 0.64 times the CPU time of an allocated one", Experiment: strategiesRun,
			Test:    Effect{Of: Side{cell.OpCPU, "strategy=arena"}, Over: Side{cell.OpCPU, "strategy=plain"}, Says: 0.643},
			Refutes: "as much time", Why: "Measured with an arena of 64 buffers in place of one: what it saves is the allocation, and the share of that depends on the work beside it.",
		}, {
			ID: "000/chan-beats-boxing", Section: "Step 6, table", Quote: "ChanPool 432.8 ns/op, SyncPool 480.5 ns/op", Figure: "0.90x",
			Predicts: "a buffer from a channel takes 0.9 times the CPU time of one from a sync.Pool of slices", Experiment: strategiesRun,
			Test:    Effect{Of: Side{cell.OpCPU, "strategy=chanpool"}, Over: Side{cell.OpCPU, "strategy=syncpool-slice"}, Says: 0.90},
			Refutes: "the same time or more for the channel",
			Why:     "Two operations on a channel stand against the 24 bytes that boxing a slice allocates, beside work that takes several times as long as either.",
		}, {
			ID: "000/chan-beats-syncpool", Section: "Step 6", Quote: "Channel-based pool: good for concurrent systems; faster than sync.Pool in every mode", Figure: "0.90x",
			Predicts:   "a buffer of 16 bytes from a channel takes less CPU time than one from a sync.Pool of pointers",
			Experiment: Experiment{Run: "strategies --strategy syncpool,chanpool --size 16 --gomaxprocs 1 --latency off", Quick: "--iterations 500_000 --duration 0 --reps 5", Full: "--iterations 5_000_000 --duration 0 --reps 6"},
			Test:       Effect{Of: Side{cell.OpCPU, "strategy=chanpool"}, Over: Side{cell.OpCPU, "strategy=syncpool"}, Says: 0.90},
			Refutes:    "the same time or more for the channel",
			Why:        "The document's sync.Pool holds slices and boxes one with each Put. Given pointers it allocates nothing, and takes no lock as the channel does.",
		}, {
			ID: "000/syncpool-boxes", Section: "Step 6, table", Quote: "SyncPool: 24 B/op, 1 allocs/op", Figure: "24 B/op",
			Predicts: "a sync.Pool of slices allocates 24 bytes an operation", Experiment: strategiesRun,
			Test:    Range{Of: Side{cell.OpBytes, "strategy=syncpool-slice"}, Min: 23, Max: 25},
			Refutes: "another number", Why: "The slice's header is boxed in an interface.",
		}, {
			ID: "000/plain-off", Section: "Step 6, table", Quote: "Plain Alloc: Default GC 581.4, Disabled GC 689.1 ns/op", Figure: "1.19x",
			Predicts: "with the collector off an allocated buffer takes 1.19 times the CPU time", Experiment: plainRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 1.185},
			Refutes: "the same time or less", Why: "What collections cost is saved, what fresh pages cost is added.",
		}, {
			ID: "000/plain-tuned", Section: "Step 6, table", Quote: "Plain Alloc: Default GC 581.4, Tuned GC 552.3 ns/op", Figure: "0.95x",
			Predicts: "GOGC=500 lowers the CPU time of an allocated buffer by 5 %", Experiment: plainRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=tuned"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 0.95},
			Refutes: "no difference", Why: "With next to no live heap a collection costs little: there is little to save, and the larger heap leaves the cache.",
		}, {
			ID: "000/benchmark-settings", Section: "Step 6", Quote: "Ensure GC is enabled with default settings",
			Predicts: "GOGC is the same after the benchmark functions as before", Experiment: trials("percent-leak", "20", "100"),
			Test:    hits(0, 0.02),
			Refutes: "another GOGC afterwards", Why: "BenchmarkWithGC sets 100 and restores nothing: what GOGC said before is gone for all that follow.",
		}, {
			ID: "000/force-beside-enable", Section: "Step 7, ForceGC", Quote: "runs a collection, and returns to the previous state",
			Predicts: "when the last section ends during a forced collection, the collector is on afterwards", Experiment: trials("force-beside-enable", "15", "60"),
			Test:    hits(0, 0.02),
			Refutes: "trials after which the collector is off though nobody asked for it",
			Why:     "ForceGC remembers that the collector was off, EnableGC turns it on meanwhile, and ForceGC then restores what is no longer so: the collector stays off for good.",
		}, {
			ID: "000/during-beside-enable", Section: "Step 7, EnableGCDuring", Quote: "runs f with GC enabled even if the controller is currently disabled",
			Predicts: "when the last section ends during EnableGCDuring, the collector is on afterwards", Experiment: trials("during-beside-enable", "15", "60"),
			Test:    hits(0, 0.02),
			Refutes: "trials after which the collector is off though nobody asked for it",
			Why:     "It restores what it found when it began, which is no longer so: the same race as in ForceGC.",
		}, {
			ID: "000/off-at-once", Section: "Step 7, DisableGC", Quote: "turns GC off on the first call, to minimize latency",
			Predicts: "turning the collector off during a collection takes less than a tenth of the collection", Experiment: trials("off-while-marking", "5", "20"),
			Test:    hits(0, 0.25),
			Refutes: "calls that wait for the collection",
			Why:     "SetGCPercent stops the world and first waits for a mark phase that is running: a critical section begins with the wait that it was to avoid. The record has the time of the call and that of the collection.",
		}, {
			ID: "000/keeps-gogc", Section: "Step 7, NewGCController", Quote: "start with default, but remember it",
			Predicts: "a controller that nobody has asked for anything leaves GOGC as the environment set it", Experiment: trials("controller-env", "20", "100"),
			Test:    hits(0.98, 1),
			Refutes: "another GOGC", Why: "It sets 100 when it is made, and restores the former value only at the end of a section: in its mode default never.",
		}, {
			ID: "000/enable-to-collect", Section: "Step 7, ForceGC", Quote: "temporarily enable so GC will run",
			Predicts: "runtime.GC does not collect while GOGC is off", Experiment: trials("gc-while-off", "10", "50"),
			Test:    hits(0, 0.02),
			Refutes: "collections while GOGC is off", Why: "GOGC says when a collection starts by itself; runtime.GC collects in any case. The toggling has no purpose, and brings the race.",
		}, {
			ID: "000/hybrid-latency", Section: "Step 7", Quote: "provides most of the benefits of disabled GC (predictable latency)",
			Predicts: "with the collector off during batches the 99th percentile of a batch is 0.8 times as high", Experiment: batchesRun,
			Test:    Effect{Of: Side{serviceP99, "toggle=on"}, Over: Side{serviceP99, "toggle=off"}, Says: 0.8},
			Refutes: "a 99th percentile as high or higher",
			Why:     "No marking runs beside a batch, but turning the collector off and on stops the world twice for each, and the heap grows into fresh pages meanwhile.",
		}, {
			ID: "000/hybrid-memory", Section: "Step 7", Quote: "avoiding the worst drawbacks (unbounded memory growth)",
			Predicts: "the heap is at most 1.5 times as large as under the collector alone", Experiment: batchesRun,
			Test:    Range{Of: Side{cell.HeapMax, "toggle=on"}, Over: Side{cell.HeapMax, "toggle=off"}, Max: 1.5},
			Refutes: "a heap that grows between the forced collections",
			Why:     "All allocation happens inside of batches, where nothing may start a collection: between two forced ones there is no bound but the time.",
		},
	}})
}
