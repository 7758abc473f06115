package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// exerciseAllocations are document 003's claims about allocations.
var exerciseAllocations = []Claim{
	{ID: "003/01-allocations", Experiment: exercise(1, "before,after", 30_000, 500_000),
		Test: allocations("before", 2.5, 3.5)},
	{ID: "003/02-allocations", Experiment: ex2, Test: allocations("before", 0.9, 1.1)},
	{ID: "003/04-allocations", Experiment: ex4, Test: allocations("before", 90, 110)},
	{ID: "003/05-allocations", Experiment: ex5, Test: allocations("before", 8.5, 11.5)},
	{ID: "003/06-allocations", Experiment: ex6, Test: allocations("before", 3.5, 4.5)},
	{ID: "003/07-allocations", Experiment: ex7,
		Test: Effect{Of: Side{cell.OpAllocs, "variant=before"}, Over: Side{cell.OpAllocs, "variant=after"}, Says: 1.9}},
	{ID: "003/06-clone", Experiment: ex6, Test: allocations("pool", 0.9, 1.1)},
	{ID: "003/08-allocations", Experiment: ex8, Test: allocations("before", 3.5, 4.5)},
	{ID: "003/08-slog-allocations", Experiment: ex8, Test: allocations("slog", 0, 0.1)},
	{ID: "003/08-small", Experiment: smallLimits,
		Test: Range{Of: limit(cell.OpAllocs, "box-small"), Max: 0.1}},
	{ID: "003/09-allocations", Experiment: ex9, Test: allocations("before", 1.9, 2.1)},
	{ID: "003/09-side-table", Experiment: ex9, Test: remedy("sidetable", 1.7)},
	{ID: "003/10-allocations", Experiment: exercise(10, "before,after", 30_000, 200_000),
		Test: allocations("before", 2.9, 3.2)},
	{ID: "003/11-allocations", Experiment: exercise(11, "before,after", 20_000, 200_000),
		Test: All{allocations("before", 11, 13), allocations("after", 4, 6)}},
	{ID: "003/12-allocations", Experiment: ex12, Test: allocations("before", 55, 70)},
	{ID: "003/14-records", Experiment: ex14, Test: allocations("before", 90, 110)},
	{ID: "003/15-allocations", Experiment: ex15, Test: allocations("before", 0.9, 1.1)},
	{ID: "003/15-inlined", Experiment: ex15, Test: allocations("inlined", 0.9, 1.1)},
	{ID: "003/16-before", Experiment: ex16, Test: allocations("before", 7.5, 8.5)},
	{ID: "003/16-allocations", Experiment: ex16, Test: allocations("after", 0, 0.1)},
	{ID: "003/16-iterator", Experiment: ex16, Test: allocations("iterator", 0, 0.1)},
	{ID: "003/17-allocations", Experiment: ex17, Test: allocations("before", 2.5, 3.5)},
	{ID: "003/18-allocations", Experiment: ex18, Test: allocations("before", 0.9, 1.1)},
	{ID: "003/18-inlined", Experiment: ex18, Test: allocations("inlined", 0.9, 1.1)},
}
