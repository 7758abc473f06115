package claim

import (
	"fmt"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// exercise is the experiment of an exercise with the given numbers of
// operations. variants are compared, starting with the pattern.
func exercise(number int, variants string, quick, full int) Experiment {
	return Experiment{
		Run: fmt.Sprintf("exercises --exercise %d --variant %s --gomaxprocs 1 --duration 0 --latency off", number,
			variants),
		Quick: fmt.Sprintf("--iterations %d --reps 5", quick), Full: fmt.Sprintf("--iterations %d --reps 6", full),
	}
}

// limits is an experiment over cases of the workload exercise-limits.
func limits(cases string, quick, full int) Experiment {
	return Experiment{
		Run:   "exercise-limits --limit " + cases + " --gomaxprocs 1 --duration 0 --latency off",
		Quick: fmt.Sprintf("--iterations %d --reps 5", quick), Full: fmt.Sprintf("--iterations %d --reps 6", full),
	}
}

// remedy claims that the pattern takes says times the CPU time of the variant
// that fixes it.
func remedy(variant string, says float64) Effect {
	return Effect{Of: Side{cell.OpCPU, "variant=before"}, Over: Side{cell.OpCPU, "variant=" + variant}, Says: says}
}

// allocations claims that the allocations of a variant are between two bounds.
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
	ex9  = exercise(9, "before,after,sidetable", 100_000, 1_000_000)
	ex12 = exercise(12, "before,after,lazy", 5_000, 50_000)
	ex13 = exercise(13, "before,after", 300_000, 5_000_000)
	ex14 = exercise(14, "before,after,explicit", 7_500, 150_000)
	ex15 = exercise(15, "before,after,inlined", 500_000, 5_000_000)
	ex16 = exercise(16, "before,after,iterator", 30_000, 300_000)
	ex17 = exercise(17, "before,after,cleanup", 20_000, 200_000)
	ex18 = exercise(18, "before,after,inlined", 500_000, 5_000_000)

	smallLimits = limits("convert-slice,convert-short,convert-lookup,concat3-builder,concat3,append4,"+
		"buffer32,buffer32-pool,box-small", 100_000, 1_000_000)
	deferLimits    = limits("defer3-loop,defer3-row,buffer256,buffer256-pool", 50_000, 500_000)
	callbackLimits = limits("predicate,predicate-typed", 20_000, 200_000)
	jsonLimits     = limits("json-marshal,json-written", 30_000, 300_000)
	sizeLimits     = limits("malloc-16,malloc-32768", 15_000, 150_000)
	fileLimits     = limits("files-deferred,files-extracted", 750, 10_000)
	timerLimits    = limits("timer-dropped", 100_000, 400_000)
	mapCost        = Experiment{Run: "gccost --beside nothing,map-pointers,map-numbers --gomaxprocs 1 --latency off",
		Quick: "--iterations 6 --reps 5", Full: "--iterations 30 --reps 6"}
)

// limit is a side for one case of the workload exercise-limits.
func limit(metric, name string) Side { return Side{metric, "limit=" + name} }

func init() {
	Register(&Document{
		ID: "003", Title: "Memory Allocator: eighteen optimizations",
		Claims: slices.Concat(exerciseClaims, exerciseAllocations, exerciseFigures, limitClaims),
	})
}

// exerciseClaims are the factors of the eighteen exercises and of their second
// remedies.
var exerciseClaims = []Claim{
	{ID: "003/01-sprintf", Experiment: exercise(1, "before,after", 75_000, 750_000),
		Test: remedy("after", 8.5)},
	{ID: "003/02-bytes", Experiment: ex2, Test: remedy("after", 19)},
	{ID: "003/02-unsafe", Experiment: ex2,
		Test: Effect{Of: Side{cell.OpCPU, "variant=unsafe"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 0.5}},
	{ID: "003/02-retained", Experiment: ex2,
		Test: Effect{Of: Side{cell.OpCPU, "variant=kept"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 19}},
	{ID: "003/03-string", Experiment: ex3, Test: remedy("after", 30)},
	{ID: "003/04-concat", Experiment: ex4, Test: remedy("after", 19)},
	{ID: "003/04-nogrow", Experiment: ex4,
		Test: Effect{Of: Side{cell.OpCPU, "variant=nogrow"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 2.33}},
	{ID: "003/05-append", Experiment: ex5, Test: remedy("after", 4)},
	{ID: "003/05-index", Experiment: ex5,
		Test: Effect{Of: Side{cell.OpCPU, "variant=index"}, Over: Side{cell.OpCPU, "variant=after"}, Says: 0.75}},
	{ID: "003/06-buffer", Experiment: ex6, Test: remedy("after", 7.5)},
	{ID: "003/06-pool", Experiment: ex6, Test: remedy("pool", 4)},
	{ID: "003/07-closure", Experiment: ex7, Test: remedy("after", 5)},
	{ID: "003/08-generics", Experiment: ex8, Test: remedy("after", 13.5)},
	{ID: "003/08-slog", Experiment: ex8, Test: remedy("slog", 4.67)},
	{ID: "003/09-optional", Experiment: exercise(9, "before,after", 200_000, 2_000_000),
		Test: remedy("after", 2.2)},
	{ID: "003/10-after", Experiment: exercise(10, "before,after", 30_000, 200_000),
		Test: remedy("after", 8)},
	{ID: "003/11-json", Experiment: exercise(11, "before,after", 4_000, 30_000),
		Test: remedy("after", 3.2)},
	{ID: "003/11-generated", Experiment: jsonLimits,
		Test: Effect{Of: limit(cell.OpCPU, "json-marshal"), Over: limit(cell.OpCPU, "json-written"), Says: 13.6}},
	{ID: "003/12-regexp", Experiment: ex12, Test: remedy("after", 126)},
	{ID: "003/12-once", Experiment: ex12,
		Test: Range{Of: Side{cell.OpCPU, "variant=lazy"}, Over: Side{cell.OpCPU, "variant=after"}, Max: 1.25}},
	{ID: "003/13-lookup", Experiment: ex13, Test: remedy("after", 1.78)},
	{ID: "003/14-files", Experiment: fileLimits,
		Test: Effect{Of: limit(cell.OpCPU, "files-deferred"), Over: limit(cell.OpCPU, "files-extracted"), Says: 1.94}},
	{ID: "003/14-defer", Experiment: ex14, Test: remedy("after", 1.94)},
	{ID: "003/15-errors", Experiment: ex15, Test: remedy("after", 13.3)},
	{ID: "003/16-result", Experiment: ex16, Test: remedy("after", 6.67)},
	{ID: "003/17-finalizer", Experiment: ex17, Test: remedy("after", 13.2)},
	{ID: "003/17-cleanup", Experiment: ex17, Test: remedy("cleanup", 2)},
	{ID: "003/18-wrapper", Experiment: ex18, Test: remedy("after", 23.3)},
}
