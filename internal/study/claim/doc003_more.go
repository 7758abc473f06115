package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// exerciseAllocations are what document 003 says of allocations.
func exerciseAllocations() []Claim {
	return []Claim{
		{
			ID: "003/02-allocations", Section: "Exercise 2", Quote: "Each conversion allocates a fresh backing array", Figure: "1 alloc/op",
			Predicts: "[]byte(s) for a callee that reads allocates once", Experiment: ex2, Test: allocations("before", 0.9, 1.1),
			Refutes: "no allocation", Why: noMore + " Since Go 1.22 the compiler passes the bytes of the string where nobody writes to them or keeps them.",
		}, {
			ID: "003/04-allocations", Section: "Exercise 4", Quote: "With 50 fields, that's 50 allocations", Figure: "99 allocs/op",
			Predicts: "50 fields make 90 allocations or more", Experiment: ex4, Test: allocations("before", 90, 110),
			Refutes: "fewer", Why: "Two concatenations a field, but for the first one.",
		}, {
			ID: "003/05-allocations", Section: "Exercise 5", Quote: "Growing a slice of 1000 ints", Figure: "9 allocs/op",
			Predicts: "append makes 9 allocations for 1,000 integers", Experiment: ex5, Test: allocations("before", 8.5, 11.5),
			Refutes: "another number", Why: "How slices grow was changed.",
		}, {
			ID: "003/07-allocations", Section: "Exercise 7", Quote: "Pass goroutine arguments instead of capturing in closures", Figure: "21 to 11: 1.9x",
			Predicts: "capturing makes 1.9 times the allocations of arguments", Experiment: ex7,
			Test:    Effect{Of: Side{cell.OpAllocs, "variant=before"}, Over: Side{cell.OpAllocs, "variant=after"}, Says: 1.9},
			Refutes: "as many allocations, or fewer",
			Why:     "A go statement with arguments is compiled to a closure that holds them, and the function literal captures the rest as before: two closures a goroutine instead of one.",
		}, {
			ID: "003/08-slog-allocations", Section: "Exercise 8", Quote: "integers travel in the uint64 field with no heap touch", Figure: "0 allocs/op",
			Predicts: "slog.Info with two integers allocates nothing", Experiment: ex8, Test: allocations("slog", 0, 0.1),
			Refutes: "an allocation for each integer",
			Why:     "A slog.Value holds an integer without a box, but slog.Info takes any: the integer is boxed before slog sees it. slog.LogAttrs with slog.Int does what the document means.",
		}, {
			ID: "003/08-small", Section: "Exercise 8", Quote: "Small values 0-255 are sometimes interned", Figure: "0 allocs/op",
			Predicts: "an integer below 256 as any allocates nothing", Experiment: smallLimits,
			Test:    Range{Of: limit(cell.OpAllocs, "box-small"), Max: 0.1},
			Refutes: "an allocation", Why: "The runtime has a table of them.",
		}, {
			ID: "003/10-allocations", Section: "Exercise 10", Quote: "time.After allocates a new *time.Timer every call", Figure: "3 allocs/op",
			Predicts: "time.After makes three allocations", Experiment: exercise(10, "before,after", 30_000, 200_000), Test: allocations("before", 2.9, 3.2),
			Refutes: "fewer", Why: "The timer, its channel and the channel's buffer.",
		}, {
			ID: "003/12-allocations", Section: "Exercise 12", Quote: "dozens of allocations for state tables", Figure: "62 allocs/op",
			Predicts: "compiling the expression makes 55 to 70 allocations", Experiment: ex12, Test: allocations("before", 55, 70),
			Refutes: "another number", Why: "The expression and the package decide.",
		}, {
			ID: "003/14-records", Section: "Exercise 14", Quote: "falls back to the heap-allocated _defer path", Figure: "one for each defer beyond 8",
			Predicts: "a hundred deferred calls in a loop make a hundred allocations", Experiment: ex14, Test: allocations("before", 90, 110),
			Refutes: "fewer", Why: "A record for each call whose number is not known when the function is compiled.",
		}, {
			ID: "003/15-inlined", Section: "Exercise 15", Quote: "errors.New allocates an *errorString on the heap every time", Figure: "1 alloc/op",
			Predicts: "it does so as well where the validation is inlined and the error only looked at", Experiment: ex15, Test: allocations("inlined", 0.9, 1.1),
			Refutes: "no allocation", Why: "Once the function is inlined the compiler sees that the error does not outlive its caller, and leaves it on the stack.",
		}, {
			ID: "003/16-allocations", Section: "Exercise 16", Quote: "zero allocations after warmup", Figure: "0 allocs/op",
			Predicts: "the variant that appends allocates nothing", Experiment: ex16, Test: allocations("after", 0, 0.1),
			Refutes: "an allocation", Why: "strings.Fields in it allocates, as the document says itself two lines below its benchmark. strings.FieldsSeq does not.",
		}, {
			ID: "003/16-iterator", Section: "Exercise 16", Quote: "write your own scanning split that appends into dst directly", Figure: "0 allocs/op",
			Predicts: "a split that yields one token at a time allocates nothing", Experiment: ex16, Test: allocations("iterator", 0, 0.1),
			Refutes: "an allocation", Why: "The iterator escapes.",
		}, {
			ID: "003/18-inlined", Section: "Exercise 18", Quote: "the constructor allocates", Figure: "1 alloc/op",
			Predicts: "it does so as well where the constructor is inlined", Experiment: ex18, Test: allocations("inlined", 0.9, 1.1),
			Refutes: "no allocation", Why: "An inlined constructor whose result stays is a variable on the stack.",
		},
	}
}

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
