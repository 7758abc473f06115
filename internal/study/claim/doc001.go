package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 001, by request. The workload explains the modes:
// alias is the document's own "standard pool" benchmark, slab its slab, and
// pooled a pool that does the same work as the slab.
var (
	typicalRun = Experiment{
		Run:   "shockwave --shape typical --mode pooled,slab,alias,connection --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 500_000 --reps 6",
	}
	largeRun = Experiment{
		Run:   "shockwave --shape large --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 15_000 --reps 5", Full: "--iterations 100_000 --reps 6",
	}
	headersRun = Experiment{
		Run:   "shockwave --shape headers --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 15_000 --reps 5", Full: "--iterations 150_000 --reps 6",
	}
	lineRun = Experiment{
		Run:   "shockwave --shape line --mode pooled,slab,alias --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 200_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	parallelRun = Experiment{
		Run:   "shockwave --shape line --workers 0 --mode pooled,slab --gomaxprocs 1,2 --duration 0 --latency off",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 3_000_000 --reps 6",
	}
	rowRun = Experiment{
		Run:   "shockwave --shape typical --held 100 --mode pooled,slab --gomaxprocs 1 --duration 0 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 500_000 --reps 6",
	}
	activeRun = Experiment{
		Run:   "shockwave --shape typical --held 1000 --mode pooled,slab,heap --gomaxprocs 1 --duration 0",
		Quick: "--iterations 10_000 --reps 5", Full: "--iterations 50_000 --reps 6",
	}
	goArenaRun = Experiment{
		Run:   "shockwave --shape typical --mode pooled,goarena --collector goarenas --gomaxprocs 1 --duration 0",
		Quick: "--held 100 --iterations 1_000 --reps 5", Full: "--held 1000 --iterations 20_000 --reps 6",
	}
	warmupRun = Experiment{
		Run:   "shockwave-trials --trial warmup --count 10_000",
		Quick: "--reps 5", Full: "--reps 6",
	}
	pipelinedRun = Experiment{
		Run:   "shockwave-trials --trial pipelined --count 16",
		Quick: "--reps 5", Full: "--reps 6",
	}
)

const (
	heldBytes   = "/shockwave/held:bytes"
	heldObjects = "/shockwave/held:objects"
)

// slabOverPool is the effect of the document's slab compared with a pool.
func slabOverPool(metric string, says float64) Effect {
	return Effect{Of: Side{metric, "mode=slab"}, Over: Side{metric, "mode=pooled"}, Says: says}
}

// perRequest is the pause time of a request, in seconds.
func perRequest(mode string, least, most float64) Range {
	return Range{Of: Side{cell.GCPauseTotal, mode}, Over: Side{cell.Ops, mode}, Min: least, Max: most}
}

func init() {
	Register(&Document{ID: "001", Title: "Shockwave Memory Management Modes", Claims: claims001})
}

var claims001 = []Claim{
	{ID: "001/typical", Experiment: typicalRun, Test: slabOverPool(cell.OpCPU, 2.53)},
	{ID: "001/slab-as-such", Experiment: typicalRun,
		Test: Effect{Of: Side{cell.OpCPU, "mode=connection"}, Over: Side{cell.OpCPU, "mode=pooled"}, Says: 2}},
	{ID: "001/standard-is-a-pool", Experiment: typicalRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=alias"}, Max: 0.5}},
	{ID: "001/pool-allocates-nothing", Experiment: typicalRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=pooled"}, Max: 0.1}},
	{ID: "001/typical-memory", Experiment: typicalRun, Test: slabOverPool(cell.OpBytes, 0.475)},
	{ID: "001/typical-allocations", Experiment: typicalRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=slab"}, Min: 6, Max: 8}},
	{ID: "001/large-allocations", Experiment: largeRun,
		Test: All{Range{Of: Side{cell.OpAllocs, "mode=slab"}, Min: 0.9, Max: 1.1},
			Range{Of: Side{cell.OpAllocs, "mode=pooled"}, Max: 0.1}}},
	{ID: "001/headers-memory", Experiment: headersRun, Test: slabOverPool(cell.OpBytes, 1.62)},
	{ID: "001/rate-allocations", Experiment: lineRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=slab"}, Min: 2.5, Max: 3.5}},
	{ID: "001/pressure-allocations", Experiment: lineRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=slab"}, Min: 4.5, Max: 5.5}},
	{ID: "001/gc-time-standard", Experiment: lineRun, Test: perRequest("mode=pooled", 1.5e-9, 6e-9)},
	{ID: "001/locality-allocations", Experiment: rowRun,
		Test: Range{Of: Side{cell.OpAllocs, "mode=slab"}, Min: 0.9, Max: 1.1}},
	{ID: "001/active-live", Experiment: activeRun,
		Test: Range{Of: Side{heldObjects, "mode=pooled"}, Min: 500, Max: 2000}},
	{ID: "001/active-objects", Experiment: activeRun, Test: slabOverPool(heldObjects, 1.256)},
	{ID: "001/50-percent", Experiment: activeRun,
		Test: Range{Of: Side{cell.RSSPeak, "mode=slab"}, Over: Side{cell.RSSPeak, "mode=pooled"}, Max: 0.95}},
	{ID: "001/large", Experiment: largeRun, Test: slabOverPool(cell.OpCPU, 2.75)},
	{ID: "001/bandwidth", Experiment: largeRun,
		Test: Range{Of: Side{cell.OpCPU, "mode=alias"}, Over: Side{cell.OpCPU, "mode=pooled"}, Min: 0.8, Max: 1.25}},
	{ID: "001/headers", Experiment: headersRun, Test: slabOverPool(cell.OpCPU, 0.733)},
	{ID: "001/48-percent", Experiment: headersRun,
		Test: Effect{Of: Side{cell.OpCPU, "mode=slab"}, Over: Side{cell.OpCPU, "mode=alias"}, Says: 1 / 1.48}},
	{ID: "001/headers-allocations", Experiment: headersRun,
		Test: Effect{Of: Side{cell.OpAllocs, "mode=slab"}, Over: Side{cell.OpAllocs, "mode=alias"}, Says: 0.2}},
	{ID: "001/headers-allocations-pool", Experiment: headersRun,
		Test: slabOverPool(cell.OpAllocs, 0.2)},
	{ID: "001/gc-cycles", Experiment: lineRun, Test: slabOverPool(cell.GCCycles, 256)},
	{ID: "001/pool-gc", Experiment: lineRun,
		Test: Range{Of: Side{cell.GCCycles, "mode=pooled"}, Max: 1}},
	{ID: "001/463", Experiment: lineRun,
		Test: All{perRequest("mode=slab", 0.693e-9, 2.772e-9), perRequest("mode=pooled", 0, 0.006e-9)}},
	{ID: "001/gc-time", Experiment: lineRun, Test: perRequest("mode=slab", 0.7e-6, 2.8e-6)},
	{ID: "001/gc-share", Experiment: lineRun,
		Test: Range{Of: Side{cell.GCCPUShare, "mode=slab"}, Min: 0.0007, Max: 0.0028}},
	{ID: "001/100k", Experiment: lineRun,
		Test: Range{Of: Side{cell.GCCPUShare, "mode=slab"}, Min: 0.01, Max: inf}},
	{ID: "001/1m", Experiment: lineRun,
		Test: Range{Of: Side{cell.GCCPUShare, "mode=pooled"}, Min: 0.01, Max: inf}},
	{ID: "001/10m"},
	{ID: "001/10-ms", Experiment: activeRun,
		Test: Range{Of: Side{cell.GCPauseMax, "mode=pooled"}, Min: 10e-3, Max: inf}},
	{ID: "001/allocation-rate", Experiment: lineRun, Test: slabOverPool(cell.OpCPU, 11.3)},
	{ID: "001/51-million", Experiment: lineRun,
		Test: Range{Of: Side{cell.OpCPU, "mode=alias"}, Over: Side{cell.OpCPU, "mode=pooled"}, Min: 0.5, Max: 2}},
	{ID: "001/locality", Experiment: rowRun, Test: slabOverPool(cell.OpCPU, 2.06)},
	{ID: "001/parallel", CPUs: 2, Experiment: parallelRun,
		Test: Effect{Of: Side{cell.OpCPU, "mode=slab gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=pooled gomaxprocs=2"},
			Says: 20.5}},
	{ID: "001/linear", CPUs: 2, Experiment: parallelRun,
		Test: Range{Of: Side{cell.OpCPU, "mode=pooled gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=pooled gomaxprocs=1"},
			Max: 1.25}},
	{ID: "001/slab-contention", CPUs: 2, Experiment: parallelRun,
		Test: Effect{Of: Side{cell.OpCPU, "mode=slab gomaxprocs=2"}, Over: Side{cell.OpCPU, "mode=slab gomaxprocs=1"},
			Says: 2}},
	{ID: "001/active-slab", Experiment: activeRun, Test: slabOverPool(heldBytes, 0.75)},
	{ID: "001/active-pool", Experiment: activeRun,
		Test: Range{Of: Side{heldBytes, "mode=pooled"}, Min: 4e6, Max: 12e6}},
	{ID: "001/active-arena", Experiment: goArenaRun,
		Test: Effect{Of: Side{heldBytes, "mode=goarena"}, Over: Side{heldBytes, "mode=pooled"}, Says: 0.5}},
	{ID: "001/arena-speed", Experiment: goArenaRun,
		Test: Effect{Of: Side{cell.OpCPU, "mode=goarena"}, Over: Side{cell.OpCPU, "mode=pooled"}, Says: 0.89}},
	{ID: "001/arena-gc", Experiment: goArenaRun,
		Test: Range{Of: Side{cell.GCCycles, "mode=goarena"}, Max: 0.5}},
	{ID: "001/collector",
		Experiment: Experiment{Run: "shockwave --shape headers --mode heap --collector classic,greentea --gomaxprocs " +
			"1 --duration 0", Quick: "--iterations 20_000 --reps 5", Full: "--iterations 200_000 --reps 6"},
		Test: Effect{Of: Side{cell.OpAllocs, "collector=greentea"}, Over: Side{cell.OpAllocs, "collector=classic"},
			Says: 0.48}},
	{ID: "001/warmup", Experiment: warmupRun,
		Test: Range{Of: Side{Metric: "/trial/made:objects"}, Min: 9000, Max: 10000}},
	{ID: "001/pipelining", Experiment: pipelinedRun,
		Test: Range{Of: Side{Metric: "/trial/answered:requests"}, Min: 15.5, Max: 16}},
	{ID: "001/statistics"},
	{ID: "001/servers"},
}
