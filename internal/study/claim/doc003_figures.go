package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// weighs claims that the pattern allocates about as many bytes as the document
// says: half to twice.
func weighs(says float64) Range {
	return Range{Of: Side{cell.OpBytes, "variant=before"}, Min: says / 2, Max: 2 * says}
}

// remains claims how many allocations are left after the remedy.
func remains(says float64) Range { return allocations("after", max(0, 0.9*says), max(0.1, 1.1*says)) }

// exerciseFigures are the columns B/op of the patterns and allocs/op of the
// remedies.
var exerciseFigures = []Claim{
	{ID: "003/01-memory", Experiment: exercise(1, "before,after", 30_000, 500_000), Test: weighs(48)},
	{ID: "003/02-memory", Experiment: ex2, Test: weighs(192)},
	{ID: "003/03-memory", Experiment: ex3, Test: weighs(256)},
	{ID: "003/04-memory", Experiment: ex4, Test: weighs(4096)},
	{ID: "003/05-memory", Experiment: ex5, Test: weighs(8184)},
	{ID: "003/06-memory", Experiment: ex6, Test: weighs(384)},
	{ID: "003/07-memory", Experiment: ex7, Test: weighs(2240)},
	{ID: "003/08-memory", Experiment: ex8, Test: weighs(96)},
	{ID: "003/09-memory", Experiment: ex9, Test: weighs(144)},
	{ID: "003/10-memory", Experiment: exercise(10, "before,after", 30_000, 200_000), Test: weighs(192)},
	{ID: "003/11-memory", Experiment: exercise(11, "before,after", 20_000, 200_000), Test: weighs(1024)},
	{ID: "003/12-memory", Experiment: ex12, Test: weighs(8200)},
	{ID: "003/15-memory", Experiment: ex15, Test: weighs(16)},
	{ID: "003/16-memory", Experiment: ex16, Test: weighs(1024)},
	{ID: "003/17-memory", Experiment: ex17, Test: weighs(240)},
	{ID: "003/18-memory", Experiment: ex18, Test: weighs(16)},
	{ID: "003/01-remains", Experiment: exercise(1, "before,after", 30_000, 500_000), Test: remains(0)},
	{ID: "003/02-remains", Experiment: ex2, Test: remains(0)},
	{ID: "003/03-remains", Experiment: ex3, Test: remains(0)},
	{ID: "003/04-remains", Experiment: ex4, Test: remains(1)},
	{ID: "003/05-remains", Experiment: ex5, Test: remains(1)},
	{ID: "003/06-remains", Experiment: ex6, Test: remains(0)},
	{ID: "003/07-remains", Experiment: ex7, Test: remains(11)},
	{ID: "003/08-remains", Experiment: ex8, Test: remains(0)},
	{ID: "003/09-remains", Experiment: ex9, Test: remains(1)},
	{ID: "003/10-remains", Experiment: exercise(10, "before,after", 30_000, 200_000), Test: remains(0)},
	{ID: "003/12-remains", Experiment: ex12, Test: remains(0)},
	{ID: "003/13-remains", Experiment: ex13, Test: remains(0)},
	{ID: "003/15-remains", Experiment: ex15, Test: remains(0)},
	{ID: "003/17-remains", Experiment: ex17, Test: remains(1)},
	{ID: "003/18-remains", Experiment: ex18, Test: remains(0)},
}
