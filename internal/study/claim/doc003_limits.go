package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// limitClaims are the document's claims about how the runtime works, and about
// when not to use a remedy.
var limitClaims = []Claim{
	{ID: "003/03-always-copies", Experiment: smallLimits,
		Test: Range{Of: limit(cell.OpAllocs, "convert-short"), Min: 0.9, Max: 1.1}},
	{ID: "003/03-lookup", Experiment: smallLimits,
		Test: Range{Of: limit(cell.OpAllocs, "convert-lookup"), Max: 0.1}},
	{ID: "003/04-three", Experiment: smallLimits,
		Test: Effect{Of: limit(cell.OpCPU, "concat3-builder"), Over: limit(cell.OpCPU, "concat3"), Says: 1.25}},
	{ID: "003/05-small", Experiment: smallLimits,
		Test: Range{Of: limit(cell.OpAllocs, "append4"), Min: 0.9, Max: 3.1}},
	{ID: "003/06-tiny", Experiment: smallLimits,
		Test: Range{Of: limit(cell.OpCPU, "buffer32-pool"), Over: limit(cell.OpCPU, "buffer32"), Min: 1, Max: inf}},
	{ID: "003/06-256", Experiment: deferLimits,
		Test: Effect{Of: limit(cell.OpCPU, "buffer256-pool"), Over: limit(cell.OpCPU, "buffer256"), Says: 0.8}},
	{ID: "003/06-hits", Experiment: trials("syncpool-hits", "20_000", "200_000"), Test: hits(0.95, 1)},
	{ID: "003/size-classes", Experiment: trials("size-classes", "1", "1"),
		Test: Range{Of: Side{Metric: "/trial/classes:classes"}, Min: 67, Max: 67}},
	{ID: "003/14-eight", Experiment: deferLimits,
		Test: Range{Of: limit(cell.OpCPU, "defer3-loop"), Over: limit(cell.OpCPU, "defer3-row"), Max: 1.25}},
	{ID: "003/17-record", Experiment: trials("finalizer-record", "50_000", "100_000"),
		Test: Range{Of: Side{Metric: "/trial/record:bytes"}, Min: 48, Max: 80}},
	{ID: "003/tiny", Experiment: sizeLimits, Test: Range{Of: limit(cell.OpCPU, "malloc-16"), Max: 15}},
	{ID: "003/06-fixed-cost", Experiment: sizeLimits,
		Test: Range{Of: limit(cell.OpCPU, "malloc-32768"), Over: limit(cell.OpCPU, "malloc-16"), Max: 2}},
	{ID: "003/07-escape", Experiment: callbackLimits,
		Test: Range{Of: limit(cell.OpAllocs, "predicate"), Min: 0.9, Max: 3}},
	{ID: "003/07-callback", Experiment: callbackLimits,
		Test: Effect{Of: limit(cell.OpCPU, "predicate"), Over: limit(cell.OpCPU, "predicate-typed"), Says: 1.5}},
	{ID: "003/10-dropped", Experiment: timerLimits,
		Test: Range{Of: Side{Metric: "/limit/left:B"}, Min: 100, Max: inf}},
	{ID: "003/13-scan", Experiment: mapCost,
		Test: Range{Of: Side{cell.OpCPU, "beside=map-numbers"}, Over: Side{cell.OpCPU, "beside=nothing"}, Max: 1.5}},
	{ID: "003/13-scan-cost", Experiment: mapCost,
		Test: Effect{Of: Side{cell.OpCPU, "beside=map-pointers"}, Over: Side{cell.OpCPU, "beside=map-numbers"}, Says: 3}},
	{ID: "003/17-extra-cycle", Experiment: trials("finalizer-cycle", "1000", "10000"),
		Test: hits(0.9, 1)},
}
