package claim

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// exercise is the experiment of an exercise with so many operations; variants
// are what is compared, beginning with the pattern.
func exercise(number int, variants string, quick, full int) Experiment {
	return Experiment{
		Run:   fmt.Sprintf("exercises --exercise %d --variant %s --gomaxprocs 1 --duration 0 --latency off", number, variants),
		Quick: fmt.Sprintf("--iterations %d --reps 5", quick), Full: fmt.Sprintf("--iterations %d --reps 6", full),
	}
}

// limits is an experiment of cases of the workload exercise-limits.
func limits(cases string, quick, full int) Experiment {
	return Experiment{
		Run:   "exercise-limits --limit " + cases + " --gomaxprocs 1 --duration 0 --latency off",
		Quick: fmt.Sprintf("--iterations %d --reps 5", quick), Full: fmt.Sprintf("--iterations %d --reps 6", full),
	}
}

// remedy is the claim that the pattern takes says times the CPU time of the
// variant that remedies it.
func remedy(variant string, says float64) Effect {
	return Effect{Of: Side{cell.OpCPU, "variant=before"}, Over: Side{cell.OpCPU, "variant=" + variant}, Says: says}
}

// allocations is the claim that a variant makes so many allocations.
func allocations(variant string, least, most float64) Range {
	return Range{Of: Side{cell.OpAllocs, "variant=" + variant}, Min: least, Max: most}
}

var (
	ex2  = exercise(2, "before,after,unsafe,kept", 150_000, 1_500_000)
	ex3  = exercise(3, "before,after", 150_000, 1_500_000)
	ex4  = exercise(4, "before,after,nogrow", 5_000, 50_000)
	ex5  = exercise(5, "before,after,index", 4_000, 100_000)
	ex6  = exercise(6, "before,after,pool", 50_000, 500_000)
	ex7  = exercise(7, "before,after", 7_500, 75_000)
	ex8  = exercise(8, "before,after,slog", 150_000, 1_500_000)
	ex12 = exercise(12, "before,after,lazy", 5_000, 50_000)
	ex13 = exercise(13, "before,after", 300_000, 5_000_000)
	ex14 = exercise(14, "before,after,explicit", 7_500, 150_000)
	ex15 = exercise(15, "before,after,inlined", 500_000, 5_000_000)
	ex16 = exercise(16, "before,after,iterator", 30_000, 300_000)
	ex17 = exercise(17, "before,after,cleanup", 20_000, 200_000)
	ex18 = exercise(18, "before,after,inlined", 500_000, 5_000_000)

	smallLimits    = limits("convert-slice,convert-short,convert-lookup,concat3-builder,concat3,append4,buffer32,buffer32-pool,box-small", 100_000, 1_000_000)
	callbackLimits = limits("predicate,predicate-typed", 20_000, 200_000)
	jsonLimits     = limits("json-marshal,json-written", 30_000, 300_000)
	sizeLimits     = limits("malloc-16,malloc-32768", 15_000, 150_000)
	fileLimits     = limits("files-deferred,files-extracted", 750, 10_000)
	timerLimits    = limits("timer-dropped", 100_000, 400_000)
	mapCost        = Experiment{Run: "gccost --beside nothing,map-pointers,map-numbers --gomaxprocs 1 --latency off", Quick: "--iterations 6 --reps 5", Full: "--iterations 30 --reps 6"}
)

// limit is a side of one case of the workload exercise-limits.
func limit(metric, name string) Side { return Side{metric, "limit=" + name} }

const noMore = "Go has become better at this since the version of the document."

func init() {
	claims := append(exerciseClaims(), exerciseAllocations()...)
	Register(&Document{ID: "003", Title: "Memory Allocator: eighteen optimizations", Claims: append(claims, limitClaims()...)})
}

// exerciseClaims are the factors of the eighteen exercises, and of their second
// remedies.
func exerciseClaims() []Claim {
	return []Claim{
		{
			ID: "003/01-sprintf", Section: "Exercise 1", Quote: "~8.5x faster, zero allocations", Figure: "240 ns to 28 ns: 8.5x",
			Predicts: "fmt.Sprintf takes 8.5 times the CPU time of appending", Experiment: exercise(1, "before,after", 75_000, 750_000), Test: remedy("after", 8.5),
			Refutes: "equal times", Why: "The log line behind the prefix is written in both, and is part of the time.",
		}, {
			ID: "003/02-bytes", Section: "Exercise 2", Quote: "~19x faster (signature), zero allocations", Figure: "420 ns to 22 ns: 19x",
			Predicts: "converting a string to bytes for a callee that reads it takes 19 times the CPU time of passing the string", Experiment: ex2, Test: remedy("after", 19),
			Refutes: "equal times", Why: noMore + " The conversion is not made where the callee only reads: the bytes of the string are passed.",
		}, {
			ID: "003/02-unsafe", Section: "Exercise 2", Quote: "BenchmarkUnsafeStringData 11 ns", Figure: "22 ns to 11 ns: 0.5x",
			Predicts: "unsafe.StringData takes half of the CPU time of passing the string", Experiment: ex2,
			Test:    Effect{Of: Side{cell.OpCPU, "variant=unsafe"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 0.5},
			Refutes: "equal times", Why: "Neither copies anything: both are a pointer and a length.",
		}, {
			ID: "003/02-retained", Section: "Exercise 2", Quote: "it goes through mallocgc, copies the bytes", Figure: "420 ns to 22 ns: 19x",
			Predicts: "where the callee keeps the bytes the conversion takes 19 times the CPU time of passing the string", Experiment: ex2,
			Test:    Effect{Of: Side{cell.OpCPU, "variant=kept"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 19},
			Refutes: "equal times", Why: "An allocation of 180 bytes and its copy cost less than reading the bytes costs, which both sides do.",
		}, {
			ID: "003/03-string", Section: "Exercise 3", Quote: "~30x faster, zero allocations on the read path", Figure: "720 ns to 24 ns: 30x",
			Predicts: "converting a line to a string takes 30 times the CPU time of passing the bytes", Experiment: ex3, Test: remedy("after", 30),
			Refutes: "equal times", Why: "Both sides read the line of 200 bytes; the conversion is an allocation and a copy on top of it.",
		}, {
			ID: "003/04-concat", Section: "Exercise 4", Quote: "~19x faster (with Grow), 1 alloc instead of 99", Figure: "8,200 ns to 420 ns: 19x",
			Predicts: "+= over 50 fields takes 19 times the CPU time of a builder that has grown", Experiment: ex4, Test: remedy("after", 19),
			Refutes: "equal times", Why: "Copying is quadratic in the number of fields; with 50 short ones that is little.",
		}, {
			ID: "003/04-nogrow", Section: "Exercise 4", Quote: "StringsBuilder_NoGrow 980 ns", Figure: "420 ns to 980 ns: 2.3x",
			Predicts: "without Grow a builder takes 2.3 times the CPU time", Experiment: ex4,
			Test:    Effect{Of: Side{cell.OpCPU, "variant=nogrow"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 2.33},
			Refutes: "equal times", Why: "Growing by doubling is five allocations.",
		}, {
			ID: "003/05-append", Section: "Exercise 5", Quote: "~4x faster on time, 9x fewer allocations", Figure: "1,900 ns to 480 ns: 4x",
			Predicts: "append without a capacity takes 4 times the CPU time", Experiment: ex5, Test: remedy("after", 4),
			Refutes: "equal times", Why: "The callback is called for each element in both.",
		}, {
			ID: "003/05-index", Section: "Exercise 5", Quote: "The index-assignment variant is even tighter", Figure: "480 ns to 360 ns: 0.75x",
			Predicts: "assignment by index takes 0.75 times the CPU time of append", Experiment: ex5,
			Test:    Effect{Of: Side{cell.OpCPU, "variant=index"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 0.75},
			Refutes: "equal times", Why: "The length of an append is in a register; calling the callback and clearing 8 KB are most of the rest.",
		}, {
			ID: "003/06-buffer", Section: "Exercise 6", Quote: "~7.5x faster (append-style), 0 vs 4 allocs", Figure: "720 ns to 96 ns: 7.5x",
			Predicts: "a bytes.Buffer for each call takes 7.5 times the CPU time of appending", Experiment: ex6, Test: remedy("after", 7.5),
			Refutes: "equal times", Why: "Both sides read what was written.",
		}, {
			ID: "003/06-pool", Section: "Exercise 6", Quote: "~4x faster (pool)", Figure: "720 ns to 180 ns: 4x",
			Predicts: "a bytes.Buffer for each call takes 4 times the CPU time of a pooled one that is cloned", Experiment: ex6, Test: remedy("pool", 4),
			Refutes: "equal times", Why: "The clone is an allocation too.",
		}, {
			ID: "003/07-closure", Section: "Exercise 7", Quote: "~5x faster, ~6x fewer allocations", Figure: "3,100 ns to 620 ns: 5x",
			Predicts: "goroutines that capture take 5 times the CPU time of those with arguments", Experiment: ex7, Test: remedy("after", 5),
			Refutes: "equal times", Why: "A go statement with arguments allocates a closure that holds them, and since Go 1.22 a loop variable is one for each turn in any case. Starting goroutines is nearly all of it.",
		}, {
			ID: "003/08-generics", Section: "Exercise 8", Quote: "~13x (generics) faster, zero allocations", Figure: "840 ns to 62 ns: 13.5x",
			Predicts: "numbers as any take 13.5 times the CPU time of a generic function", Experiment: ex8, Test: remedy("after", 13.5),
			Refutes: "equal times", Why: "The document's side also formats and writes to standard error, which has nothing to do with boxing; here the numbers are added up.",
		}, {
			ID: "003/08-slog", Section: "Exercise 8", Quote: "~14x (slog), zero allocations", Figure: "840 ns to 180 ns: 4.7x",
			Predicts: "numbers as any take 4.7 times the CPU time of slog", Experiment: ex8, Test: remedy("slog", 4.67),
			Refutes: "slog that takes as much or more",
			Why:     "slog.Info takes any as well, so the numbers are boxed all the same, and it makes a record besides. 840 over 180 is not 14 either.",
		}, {
			ID: "003/09-optional", Section: "Exercise 9", Quote: "~1.7-2.2x faster, half the allocations", Figure: "480 ns to 220 ns: 2.2x",
			Predicts: "a node with metadata apart takes 2.2 times the CPU time of one with it inside", Experiment: exercise(9, "before,after", 200_000, 2_000_000), Test: remedy("after", 2.2),
			Refutes: "equal times", Why: "The one object is as large as the two together, and the collector counts bytes.",
		}, {
			ID: "003/10-after", Section: "Exercise 10", Quote: "~8x faster, zero allocations", Figure: "3,400 ns to 420 ns: 8x",
			Predicts: "time.After takes 8 times the CPU time of a timer that is reset", Experiment: exercise(10, "before,after", 30_000, 200_000), Test: remedy("after", 8),
			Refutes: "equal times", Why: "Putting a timer into the heap of timers is most of both; since Go 1.23 one that is dropped does not stay there.",
		}, {
			ID: "003/11-json", Section: "Exercise 11", Quote: "~3-14x faster", Figure: "3,800 ns to 1,200 ns: 3.2x",
			Predicts: "json.Marshal takes 3.2 times the CPU time of an encoder that is kept", Experiment: exercise(11, "before,after", 4_000, 30_000), Test: remedy("after", 3.2),
			Refutes: "equal times", Why: "json.Marshal has its encoder state from a sync.Pool; the walk by reflection is the same in both, and nearly all of it.",
		}, {
			ID: "003/11-generated", Section: "Exercise 11", Quote: "Generated marshallers skip reflect entirely", Figure: "3,800 ns to 280 ns: 13.6x",
			Predicts: "json.Marshal takes 13.6 times the CPU time of code as a generator writes it", Experiment: jsonLimits,
			Test:    Effect{Of: limit(cell.OpCPU, "json-marshal"), Over: limit(cell.OpCPU, "json-written"), Says: 13.6},
			Refutes: "equal times", Why: "The bytes are read once in both.",
		}, {
			ID: "003/12-regexp", Section: "Exercise 12", Quote: "~126x faster, zero allocations", Figure: "12,000 ns to 95 ns: 126x",
			Predicts: "compiling in the function takes 126 times the CPU time of matching", Experiment: ex12, Test: remedy("after", 126),
			Refutes: "equal times", Why: "Matching is slower, or compiling faster, than in the document; nothing else differs.",
		}, {
			ID: "003/12-once", Section: "Exercise 12", Quote: "sync.OnceValue adds one atomic load per call",
			Predicts: "with sync.OnceValue a match takes at most 1.25 times the CPU time", Experiment: ex12,
			Test:    Range{Of: Side{cell.OpCPU, "variant=lazy"}, Over: Side{cell.OpCPU, "variant=after"}, Max: 1.25},
			Refutes: "more than that", Why: "More than a load happens in each call.",
		}, {
			ID: "003/13-lookup", Section: "Exercise 13", Quote: "~1.8x faster on the lookup", Figure: "320 ns to 180 ns: 1.8x",
			Predicts: "a look-up by a key with a pointer takes 1.8 times the CPU time of one by numbers", Experiment: ex13, Test: remedy("after", 1.78),
			Refutes: "equal times", Why: "Keys of 16 bytes are hashed and compared as memory in both cases; the special maps are for keys of 4 and 8 bytes and for strings.",
		}, {
			ID: "003/14-files", Section: "Exercise 14", Quote: "~2x faster and resources released promptly", Figure: "12,000 ns to 6,200 ns: 1.9x",
			Predicts: "opening ten files with deferred closing in the loop takes 1.9 times the CPU time of a function for each", Experiment: fileLimits,
			Test:    Effect{Of: limit(cell.OpCPU, "files-deferred"), Over: limit(cell.OpCPU, "files-extracted"), Says: 1.94},
			Refutes: "equal times", Why: "Opening and closing a file are system calls, thousands of times as expensive as a deferred call.",
		}, {
			ID: "003/14-defer", Section: "Exercise 14", Quote: "prevents open-coding; falls back to the heap-allocated _defer path", Figure: "12,000 ns to 6,200 ns: 1.9x",
			Predicts: "a hundred deferred calls in a loop take 1.9 times the CPU time of a function with one each", Experiment: ex14, Test: remedy("after", 1.94),
			Refutes: "equal times", Why: "Deferred calls in a loop were made cheaper.",
		}, {
			ID: "003/15-errors", Section: "Exercise 15", Quote: "~13x faster, zero allocations", Figure: "24 ns to 1.8 ns: 13x",
			Predicts: "errors.New in each call takes 13 times the CPU time of a sentinel", Experiment: ex15, Test: remedy("after", 13.3),
			Refutes: "equal times", Why: "Both sides keep the error and ask it for its text, as a caller would.",
		}, {
			ID: "003/16-result", Section: "Exercise 16", Quote: "~6.6x faster, zero allocations after warmup", Figure: "3,200 ns to 480 ns: 6.7x",
			Predicts: "a result slice for each call takes 6.7 times the CPU time of one that is reused", Experiment: ex16, Test: remedy("after", 6.67),
			Refutes: "equal times", Why: "strings.Fields allocates its result in both; what is saved is the copy of it, which grew by append.",
		}, {
			ID: "003/17-finalizer", Section: "Exercise 17", Quote: "~13x faster and resources released deterministically", Figure: "8,200 ns to 620 ns: 13x",
			Predicts: "a finalizer takes 13 times the CPU time of Close", Experiment: ex17, Test: remedy("after", 13.2),
			Refutes: "equal times", Why: "What the finalizer itself does counts as well.",
		}, {
			ID: "003/17-cleanup", Section: "Summary", Quote: "runtime.AddCleanup (Go 1.24+) over SetFinalizer", Figure: "no figure; a factor of 2 is tested",
			Predicts: "a finalizer takes twice the CPU time of a cleanup", Experiment: ex17, Test: remedy("cleanup", 2),
			Refutes: "equal times", Why: "Both are records in a list of the span; an object with a finalizer takes a second cycle.",
		}, {
			ID: "003/18-wrapper", Section: "Exercise 18", Quote: "~23x faster, zero allocations", Figure: "42 ns to 1.8 ns: 23x",
			Predicts: "a pointer to a struct of one number takes 23 times the CPU time of a named number", Experiment: ex18, Test: remedy("after", 23.3),
			Refutes: "equal times", Why: "An allocation of 8 bytes is 10 to 20 ns; two calls that are not inlined are a few.",
		},
	}
}
