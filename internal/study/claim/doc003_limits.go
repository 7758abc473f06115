package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// limitClaims are the document's words on how the runtime works, and on when
// not to use a remedy.
func limitClaims() []Claim {
	return []Claim{
		{
			ID: "003/03-always-copies", Section: "Exercise 3", Quote: "string([]byte) always copies", Figure: "1 alloc/op",
			Predicts: "a conversion of 32 bytes for a callee that reads allocates once", Experiment: smallLimits,
			Test:    Range{Of: limit(cell.OpAllocs, "convert-short"), Min: 0.9, Max: 1.1},
			Refutes: "no allocation", Why: "Up to 32 bytes that do not escape are copied to a buffer on the stack.",
		}, {
			ID: "003/03-lookup", Section: "Exercise 3", Quote: "If a string-keyed map lookup is the boundary, modern Go elides the conversion", Figure: "0 allocs/op",
			Predicts: "a look-up with string(b) allocates nothing", Experiment: smallLimits,
			Test:    Range{Of: limit(cell.OpAllocs, "convert-lookup"), Max: 0.1},
			Refutes: "an allocation", Why: "The compiler did not see the pattern.",
		}, {
			ID: "003/04-three", Section: "Exercise 4, when not", Quote: "a + b + c: one allocation, faster than a Builder", Figure: "no figure; a quarter is tested",
			Predicts: "three strings with a builder that has grown take 1.25 times the CPU time of +", Experiment: smallLimits,
			Test:    Effect{Of: limit(cell.OpCPU, "concat3-builder"), Over: limit(cell.OpCPU, "concat3"), Says: 1.25},
			Refutes: "equal times", Why: "Both make one allocation and copy once.",
		}, {
			ID: "003/05-small", Section: "Exercise 5", Quote: "the slice grows geometrically, each growth mallocgc's a new backing array", Figure: "3 allocations for 4 integers",
			Predicts: "four integers that stay in the function make an allocation or more", Experiment: smallLimits,
			Test:    Range{Of: limit(cell.OpAllocs, "append4"), Min: 0.9, Max: 3.1},
			Refutes: "no allocation", Why: "Since Go 1.25 the first 32 bytes of a slice that does not escape are on the stack, whatever append finds.",
		}, {
			ID: "003/06-tiny", Section: "Exercise 6, when not", Quote: "Tiny buffers (< 64 B): pool overhead beats the saving",
			Predicts: "for 32 bytes a pool takes more CPU time than making them", Experiment: smallLimits,
			Test:    Range{Of: limit(cell.OpCPU, "buffer32-pool"), Over: limit(cell.OpCPU, "buffer32"), Min: 1, Max: inf},
			Refutes: "less time with the pool", Why: "A Get and a Put are some ten ns together; an allocation of 32 bytes is more than that, with its share of the collections.",
		}, {
			ID: "003/06-fixed-cost", Section: "Exercise 6", Quote: "mallocgc overhead (~30 ns fixed cost per call regardless of size)", Figure: "30 ns",
			Predicts: "32 KB take the CPU time of 16 bytes, within a factor of 2", Experiment: sizeLimits,
			Test:    Range{Of: limit(cell.OpCPU, "malloc-32768"), Over: limit(cell.OpCPU, "malloc-16"), Max: 2},
			Refutes: "a cost that grows with the size", Why: "Memory is cleared before it is handed out, and every byte brings the next collection nearer.",
		}, {
			ID: "003/07-escape", Section: "Exercise 7", Quote: "A closure that captures variables by reference forces those variables to the heap", Figure: "1 allocation or more",
			Predicts: "a callback that captures a variable makes an allocation", Experiment: callbackLimits,
			Test:    Range{Of: limit(cell.OpAllocs, "predicate"), Min: 0.9, Max: 3},
			Refutes: "no allocation", Why: "What counts is whether the function value outlives its frame. One that is only called further down stays on the stack, and so does what it captures.",
		}, {
			ID: "003/07-callback", Section: "Exercise 7", Quote: "For functional callbacks, the same trick", Figure: "no figure; a half is tested",
			Predicts: "a callback that captures takes 1.5 times the CPU time of a typed predicate", Experiment: callbackLimits,
			Test:    Effect{Of: limit(cell.OpCPU, "predicate"), Over: limit(cell.OpCPU, "predicate-typed"), Says: 1.5},
			Refutes: "equal times", Why: "Neither allocates. What differs is that the compiler can inline a method and not a function value.",
		}, {
			ID: "003/10-dropped", Section: "Exercise 10", Quote: "the timer still sits in the heap until it fires", Figure: "192 B for each timer",
			Predicts: "100 bytes or more are left of each timer that is dropped", Experiment: timerLimits,
			Test:    Range{Of: Side{Metric: "/limit/left:B"}, Min: 100, Max: inf},
			Refutes: "nothing that is left after a collection", Why: "Since Go 1.23 a timer that nobody refers to is collected, whether it has fired or not.",
		}, {
			ID: "003/13-scan", Section: "Exercise 13", Quote: "GC scan of the map drops to zero", Figure: "no scan",
			Predicts: "a collection beside a map of numbers takes at most 1.5 times the CPU time of one without", Experiment: mapCost,
			Test:    Range{Of: Side{cell.OpCPU, "beside=map-numbers"}, Over: Side{cell.OpCPU, "beside=nothing"}, Max: 1.5},
			Refutes: "a collection that scans the map", Why: "What is left is the directory of the map's tables, and sweeping them.",
		}, {
			ID: "003/13-scan-cost", Section: "Exercise 13", Quote: "the bigger win is the GC scan time of a large map",
			Predicts: "a collection beside a map of pointers takes 3 times the CPU time of one beside a map of numbers", Experiment: mapCost,
			Test:    Effect{Of: Side{cell.OpCPU, "beside=map-pointers"}, Over: Side{cell.OpCPU, "beside=map-numbers"}, Says: 3},
			Refutes: "equal times", Why: "The tables are scanned in both cases.",
		}, {
			ID: "003/17-extra-cycle", Section: "Exercise 17", Quote: "keeps the object live across at least one extra GC cycle",
			Predicts: "objects with a finalizer still take their memory after the collection that finds them unreachable", Experiment: trials("finalizer-cycle", "1000", "10000"),
			Test:    hits(0.9, 1),
			Refutes: "memory that is free after the first collection", Why: "A finalizer gets the object, so it must be there.",
		},
	}
}
