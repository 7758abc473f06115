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
