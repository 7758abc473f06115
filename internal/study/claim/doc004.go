package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 004. The forced collections of its benchmark are the
// flag --gc-every 1000.
var (
	tournamentRun = Experiment{
		Run:   "loop --ingress main,alternate-two,main-lean,main-arena,main-threshold --gc-every 1000 --latency off",
		Quick: "--iterations 25_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	calmRun = Experiment{
		Run:   "loop --ingress main,alternate-two --gc-every 0 --latency off",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	crowdRun = Experiment{
		Run:   "loop --ingress main,alternate-two --producers 4 --gc-every 1000 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 400_000 --reps 6",
	}
	partsRun = Experiment{
		Run:   "loop --ingress ablation --arena off,on --lockfree off,on --gc-every 1000 --latency off",
		Quick: "--iterations 20_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	clearingRun = Experiment{ // on one processor, where a collection costs the same each time
		Run:   "loop --ingress ablation --clearing off,on --gc-every 1000 --gomaxprocs 1 --latency off",
		Quick: "--iterations 30_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	stormRun = Experiment{
		Run:   "loop --ingress ablation --lockfree off,on --padding off,on --producers 4 --gc-every 0",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 4_000_000 --reps 6",
	}
	arenaCost = Experiment{
		Run:   "gccost --beside nothing,arena-empty,arena-full --gomaxprocs 1 --latency off",
		Quick: "--iterations 30 --reps 5", Full: "--iterations 200 --reps 6",
	}
)

// loopTrials is an experiment of the workload loop-trials.
func loopTrials(trial, quick, full string) Experiment {
	return Experiment{Run: "loop-trials --trial " + trial, Quick: quick + " --reps 5", Full: full + " --reps 8"}
}

// against is an effect of one loop over the document's Main.
func against(ingress, metric string, says float64) Effect {
	return Effect{Of: Side{metric, "ingress=" + ingress}, Over: Side{metric, "ingress=main"}, Says: says}
}

// part is an effect of one switch, the other one off.
func part(on, off string, says float64) Effect {
	return Effect{Of: Side{cell.OpCPU, on + "=on " + off + "=off"}, Over: Side{cell.OpCPU, on + "=off " + off + "=off"}, Says: says}
}

const (
	loopGCTime   = "/loop/gc/time:ns"
	loopTaskTime = "/loop/task/time:ns"
	lostTasks    = "/trial/lost:tasks"
	trialCount   = "/trial/count:items"
	mostIsGC     = "Most of the benchmark's time is runtime.GC itself, which the loop does not shorten: every 1,000 submissions it stops and marks the heap, whatever the queue is made of."
)

func init() {
	Register(&Document{ID: "004", Title: "AlternateTwo: GC pressure resilience of an event loop", Claims: append(loopClaims(), loopPartClaims()...)})
}

func loopClaims() []Claim {
	return []Claim{
		{
			ID: "004/gc-pressure", Section: "Executive Summary", Quote: "AlternateTwo 377.5 against Main 1,355: -72% faster", Figure: "0.28x",
			Predicts: "with a collection every 1,000 submissions AlternateTwo takes 0.28 times the CPU time of Main", Experiment: tournamentRun,
			Test:    against("alternate-two", cell.OpCPU, 0.279),
			Refutes: "as much CPU time as Main or more",
			Why:     mostIsGC + " And AlternateTwo makes that dearer: its task arena is scanned, its pooled nodes are gone after each second collection, and it is woken through the kernel.",
		}, {
			ID: "004/what-is-measured", Section: "3.1 Benchmark Characteristics", Quote: "GC pressure benchmarks measure GC interference, not just allocation rate",
			Predicts: "at most half of the time of the benchmark is the forced collection itself", Experiment: tournamentRun,
			Test:    Range{Of: Side{loopGCTime, "ingress=main"}, Over: Side{loopTaskTime, "ingress=main"}, Max: 0.5},
			Refutes: "a larger share", Why: "With the collector forced every 1,000 submissions nearly all of the time is the collection: the producer waits in runtime.GC, with nothing submitted.",
		}, {
			ID: "004/calm", Section: "4.1 Allocation Patterns", Quote: "Main is FASTER when measuring raw allocation rate", Figure: "118.5 ns against 94.34 ns: 1.26x",
			Predicts: "without forced collections AlternateTwo takes 1.26 times the CPU time of Main", Experiment: calmRun,
			Test:    against("alternate-two", cell.OpCPU, 1.256),
			Refutes: "as much CPU time as Main or less", Why: "Two more atomic additions and a system call for each waking.",
		}, {
			ID: "004/more-producers", Section: "10.3 Benchmark Variations", Quote: "Multi-producer: may show even larger advantage for AlternateTwo", Figure: "0.28x",
			Predicts: "with four producers AlternateTwo takes 0.28 times the CPU time of Main, or less", Experiment: crowdRun,
			Test:    against("alternate-two", cell.OpCPU, 0.279),
			Refutes: "as much CPU time as Main or more", Why: mostIsGC,
		}, {
			ID: "004/near-zero", Section: "4.1 Allocation Patterns", Quote: "AlternateTwo: NEAR-ZERO allocations under pressure; Main: higher pool pressure", Figure: "24 B nodes against 2 KB chunks",
			Predicts: "with forced collections AlternateTwo allocates half as many bytes a task as Main, or less", Experiment: tournamentRun,
			Test:    against("alternate-two", cell.OpBytes, 0.5),
			Refutes: "as many bytes or more", Why: "A sync.Pool is emptied by collections, whatever the size of what is in it. Main needs few chunks, and keeps the one it fills; AlternateTwo needs a node for each task in flight.",
		}, {
			ID: "004/arena", Section: "7.1 Primary Factor", Quote: "TaskArena: ~40-50% of the performance advantage", Figure: "400 of 1,355 ns: 0.70x",
			Predicts: "a task arena takes 0.70 times the CPU time of none", Experiment: partsRun,
			Test:    part("arena", "lockfree", 0.705),
			Refutes: "no difference, or more CPU time",
			Why:     "In the document's loop nothing refers to its task arena: it is dead code. Put to use it costs time: 65,536 tasks are pointers that each collection scans.",
		}, {
			ID: "004/lock-free", Section: "7.2 Secondary Factor", Quote: "Lock-Free Resilience: ~30-40% of the performance advantage", Figure: "300 of 1,355 ns: 0.78x",
			Predicts: "a lock-free list takes 0.78 times the CPU time of chunks under a mutex", Experiment: partsRun,
			Test:    part("lockfree", "arena", 0.779),
			Refutes: "no difference, or more CPU time",
			Why:     "A goroutine does not hold the mutex while it waits for a collection: stopping the world waits for the few ns that it is held. The list has a node for each task, taken from a pool that collections empty.",
		}, {
			ID: "004/clearing", Section: "7.3 Tertiary Factor", Quote: "Minimal chunk clearing: ~20-30% of the performance advantage", Figure: "150 of 1,355 ns: 0.89x",
			Predicts: "clearing only what was used takes 0.89 times the CPU time of clearing whole chunks", Experiment: clearingRun,
			Test:    Effect{Of: Side{cell.OpCPU, "clearing=on"}, Over: Side{cell.OpCPU, "clearing=off"}, Says: 0.889},
			Refutes: "no difference",
			Why:     "A chunk is 1 KB, cleared once for 128 tasks: a tenth of a ns a task. In the benchmark the loop's fast path bypasses the chunks, so there nothing is cleared at all.",
		}, {
			ID: "004/padding", Section: "9.2 Option 3", Quote: "Add cache line padding: ~20-50 ns/op improvement", Figure: "20 of 94 ns: 0.79x", CPUs: 2,
			Predicts: "with four producers, where sharing is worst, padding takes 0.79 times the CPU time of none", Experiment: stormRun,
			Test:    part("padding", "lockfree", 0.79),
			Refutes: "no difference",
			Why:     "Under a mutex the producers hand each other the same line for the mutex itself; that the next field is on another one saves little.",
		}, {
			ID: "004/option-1", Section: "9.2 Option 1", Quote: "Adopt TaskArena (Conservative)", Figure: "400 of 1,355 ns: 0.70x",
			Predicts: "Main with a task arena takes 0.70 times the CPU time of Main", Experiment: tournamentRun,
			Test:    against("main-arena", cell.OpCPU, 0.705),
			Refutes: "as much CPU time or more", Why: "The arena is scanned by every collection, and chunks are needed all the same, for the addresses of the tasks.",
		}, {
			ID: "004/option-2", Section: "9.2 Option 2", Quote: "Hybrid TaskArena (Aggressive): best of both worlds", Figure: "400 of 1,355 ns: 0.70x",
			Predicts: "Main with an arena for short queues takes 0.70 times the CPU time of Main", Experiment: tournamentRun,
			Test:    against("main-threshold", cell.OpCPU, 0.705),
			Refutes: "as much CPU time or more", Why: "As with the arena alone, and a length that has to be kept besides.",
		}, {
			ID: "004/option-3", Section: "9.2 Option 3", Quote: "Optimized Main without TaskArena: ~70-150 ns/op", Figure: "110 of 1,355 ns: 0.92x",
			Predicts: "Main with less clearing, padding and fewer signals takes 0.92 times the CPU time of Main, or less", Experiment: tournamentRun,
			Test:    Range{Of: Side{cell.OpCPU, "ingress=main-lean"}, Over: Side{cell.OpCPU, "ingress=main"}, Max: 0.95},
			Refutes: "as much CPU time", Why: mostIsGC,
		}, {
			ID: "004/pauses", Section: "7.2 Secondary Factor", Quote: "GC completes (10-50ms delay)", Figure: "10 to 50 ms",
			Predicts: "the median pause of a collection is 10 to 50 ms", Experiment: tournamentRun,
			Test:    Range{Of: Side{pauseP50, "ingress=main"}, Min: 10e6, Max: 50e6},
			Refutes: "shorter pauses", Why: "Marking runs beside the program. The world is stopped twice a collection, for less than a ms.",
		}, {
			ID: "004/storms", Section: "8.2 Why Doesn't Main Use Lock-Free?", Quote: "Lock-free CAS storms under high producer contention (N producers = O(N) retries)", Figure: "4 producers",
			Predicts: "with four producers the lock-free list takes 1.5 times the CPU time of the mutex", Experiment: stormRun,
			Test:    Effect{Of: Side{cell.OpCPU, "lockfree=on padding=off"}, Over: Side{cell.OpCPU, "lockfree=off padding=off"}, Says: 1.5},
			Refutes: "as much CPU time or less",
			Why:     "Its push is one exchange of the tail, which cannot fail: there are no retries. It still costs a node from a pool for each task.",
		}, {
			ID: "004/submit-tail", Section: "2.1 Mutex-Based Contention", Quote: "No blocking! Atomic CAS always makes progress", Figure: "no figure; half is tested",
			Predicts: "with four producers the 99.9th percentile of Submit is half as long without a lock", Experiment: stormRun,
			Test:    Effect{Of: Side{serviceP999, "lockfree=on padding=off"}, Over: Side{serviceP999, "lockfree=off padding=off"}, Says: 0.5},
			Refutes: "a percentile as long or longer", Why: "What delays the slowest submissions is mostly the scheduler, which takes the processor from a producer with or without a lock.",
		}, {
			ID: "004/macos", Section: "3.2 Linux vs macOS", Quote: "macOS: 453.6 against 391.4, -14%", Untestable: "it takes a Mac, and the comparison two machines that differ in nothing but the system. What it is explained by does not hold on Linux: a Go program uses neither pthread mutexes nor the malloc of a C library.",
		},
	}
}

func loopPartClaims() []Claim {
	return []Claim{
		{
			ID: "004/no-traversal", Section: "1.1 TaskArena", Quote: "No GC Traversal: GC never needs to trace through heap pointers",
			Predicts: "a collection beside a full task arena takes the CPU time of one beside nothing, within a quarter", Experiment: arenaCost,
			Test:    Range{Of: Side{cell.OpCPU, "beside=arena-full"}, Over: Side{cell.OpCPU, "beside=nothing"}, Max: 1.25},
			Refutes: "a dearer collection", Why: "A task is a function value, which is a pointer: 65,536 of them are scanned, and what they point to is marked.",
		}, {
			ID: "004/arena-size", Section: "1.1 TaskArena", Quote: "Pre-allocated 64KB task buffer", Figure: "64 KB",
			Predicts: "the buffer has 64 KB", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
			Test:    Range{Of: Side{Metric: "/trial/arena:bytes"}, Min: 60e3, Max: 70e3},
			Refutes: "another size", Why: "It has 65,536 slots of 8 bytes, a function value each: 512 KB.",
		}, {
			ID: "004/arena-footnote", Section: "1.1 Memory Footnote", Quote: "approximately 1.5MB - 3.0MB, not 64KB", Figure: "1.5 to 3.0 MB",
			Predicts: "the buffer has 1.5 to 3.0 MB", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
			Test:    Range{Of: Side{Metric: "/trial/arena:bytes"}, Min: 1.5e6, Max: 3.15e6},
			Refutes: "another size", Why: "A closure is not in the slot: a function value points to it. 65,536 slots of 8 bytes are 512 KB.",
		}, {
			ID: "004/chunk-to-node", Section: "11.2 Memory Metrics", Quote: "Chunk/Node Size 2,048 against 24 bytes", Figure: "85:1",
			Predicts: "a chunk is 77 to 94 times as large as a node", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
			Test:    Range{Of: Side{Metric: "/trial/chunk:bytes"}, Over: Side{Metric: "/trial/node:bytes"}, Min: 77, Max: 94},
			Refutes: "another ratio", Why: "A chunk is 128 tasks of 8 bytes, a node a task and a pointer: 1,024 against 16 bytes.",
		}, {
			ID: "004/eviction", Section: "1.4 sync.Pool Usage", Quote: "Pool Pressure: less likely to be evicted by GC due to smaller size", Figure: "24 bytes against 2 KB",
			Predicts: "of 1,000 pooled nodes some are left after two collections", Experiment: loopTrials("eviction", "--count 1000", "--count 10000"),
			Test:    Range{Of: Side{Metric: "/trial/node/left2:objects"}, Min: 1, Max: inf},
			Refutes: "none", Why: "A sync.Pool does not look at sizes: a collection moves what is in it aside, the next one drops that. Nodes and chunks go alike.",
		}, {
			ID: "004/wrap", Section: "10.1 TaskArena Wrap-Around", Quote: "silent data corruption/loss will occur", Figure: "beyond 65,536 tasks",
			Predicts: "of 100,000 tasks submitted before the first runs, 34,464 never run", Experiment: loopTrials("wrap", "--count 100_000", "--count 100_000"),
			Test:    Range{Of: Side{Metric: lostTasks}, Min: 34464, Max: 34464},
			Refutes: "none lost", Why: "Each slot is handed out again, whether its task has run or not.",
		}, {
			ID: "004/recycling", Section: "10.2 Memory Reclamation", Quote: "Use-after-free if Producer B modifies node100 while Producer A reads",
			Predicts: "of 1,600,000 tasks in recycled nodes some are lost, doubled or out of turn", Experiment: loopTrials("recycle", "--count 100_000 --producers 4", "--count 1_000_000 --producers 4"),
			Test:    Range{Of: Side{Metric: "/trial/wrong:tasks"}, Min: 1, Max: inf},
			Refutes: "none in any repetition",
			Why:     "The loop gives back a node only when it has seen the link to the next one, and whoever made that link was the last to hold the node. And where memory is collected nothing is freed while somebody refers to it.",
		}, {
			ID: "004/microtask-ring", Section: "12.1 Key Files", Quote: "ingress.go: Lock-free MPSC queue, microtask ring", Figure: "no task lost",
			Predicts: "the ring loses none of the tasks pushed by four producers", Experiment: loopTrials("ring", "--count 1_000_000 --producers 4", "--count 10_000_000 --producers 4"), CPUs: 2,
			Test:    Share{Hits: Side{Metric: lostTasks}, Trials: Side{Metric: trialCount}},
			Refutes: "a task that is not run",
			Why:     "The index is published before the task is in its slot. A loop that looks in between takes the slot for empty and goes on; the task is then overwritten one lap later.",
		}, {
			ID: "004/shutdown", Section: "8.3 Production Readiness", Quote: "Submit returns nil, the loop drains and terminates", Figure: "no task lost",
			Predicts: "every task that Submit accepted runs before the loop has ended", Experiment: loopTrials("shutdown", "--count 400 --producers 4", "--count 5_000 --producers 4"), CPUs: 2,
			Test:    Share{Hits: Side{Metric: "/trial/lost:rounds"}, Trials: Side{Metric: trialCount}},
			Refutes: "a round in which an accepted task does not run",
			Why:     "Submit looks at the state and then pushes. Between the two the loop may end, and nobody looks at the queue again.",
		},
	}
}
