package claim

import (
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Experiments of document 004. The flag --gc-every 1000 stands for the forced
// collections of its benchmark.
var (
	tournamentRun = Experiment{
		Run:   "loop --ingress main,alternate-two,main-lean,main-arena,main-threshold --gc-every 1000 --latency off",
		Quick: "--iterations 25_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	calmRun = Experiment{
		Run:   "loop --ingress main,alternate-two --gc-every 0 --latency off",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	everyRun = Experiment{
		Run:   "loop --ingress main,alternate-two --gc-every 100,5000 --latency off",
		Quick: "--iterations 5_000 --reps 5", Full: "--iterations 50_000 --reps 6",
	}
	crowdRun = Experiment{
		Run:   "loop --ingress main,alternate-two --producers 4 --gc-every 1000 --latency off",
		Quick: "--iterations 50_000 --reps 5", Full: "--iterations 400_000 --reps 6",
	}
	partsRun = Experiment{
		Run:   "loop --ingress ablation --arena off,on --lockfree off,on --gc-every 1000 --latency off",
		Quick: "--iterations 20_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	clearingRun = Experiment{ // on one processor, where every collection costs the same
		Run:   "loop --ingress ablation --clearing off,on --gc-every 1000 --gomaxprocs 1 --latency off",
		Quick: "--iterations 30_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	stormRun = Experiment{
		Run:   "loop --ingress ablation --lockfree off,on --padding off,on --producers 4 --gc-every 0",
		Quick: "--iterations 300_000 --reps 5", Full: "--iterations 4_000_000 --reps 6",
	}
	slotLimits = limits("atomic-add,malloc-2048", 100_000, 1_000_000)
	arenaCost  = Experiment{
		Run:   "gccost --beside nothing,arena-empty,arena-full --gomaxprocs 1 --latency off",
		Quick: "--iterations 30 --reps 5", Full: "--iterations 200 --reps 6",
	}
)

// loopTrials is an experiment of the workload loop-trials.
func loopTrials(trial, quick, full string) Experiment {
	return Experiment{Run: "loop-trials --trial " + trial, Quick: quick + " --reps 5", Full: full + " --reps 8"}
}

// against is the effect of a loop compared with the document's Main.
func against(ingress, metric string, says float64) Effect {
	return Effect{Of: Side{metric, "ingress=" + ingress}, Over: Side{metric, "ingress=main"}, Says: says}
}

// every is the document's effect with another interval between collections.
func every(interval string) Effect {
	return Effect{Of: Side{cell.OpCPU, "ingress=alternate-two " + interval},
		Over: Side{cell.OpCPU, "ingress=main " + interval}, Says: 0.279}
}

// part is the effect of one switch with the other one off.
func part(on, off string, says float64) Effect {
	return Effect{Of: Side{cell.OpCPU, on + "=on " + off + "=off"}, Over: Side{cell.OpCPU, on + "=off " + off + "=off"},
		Says: says}
}

const (
	loopGCTime   = "/loop/gc/time:ns"
	loopTaskTime = "/loop/task/time:ns"
	lostTasks    = "/trial/lost:tasks"
	trialCount   = "/trial/count:items"
)

func init() {
	Register(&Document{ID: "004", Title: "AlternateTwo: GC pressure resilience of an event loop",
		Claims: slices.Concat(loopClaims, loopPartClaims)})
}

var loopClaims = []Claim{
	{ID: "004/gc-pressure", Experiment: tournamentRun,
		Test: against("alternate-two", cell.OpCPU, 0.279)},
	{ID: "004/what-is-measured", Experiment: tournamentRun,
		Test: Range{Of: Side{loopGCTime, "ingress=main"}, Over: Side{loopTaskTime, "ingress=main"}, Max: 0.5}},
	{ID: "004/every-100", Experiment: everyRun, Test: every("gc-every=100")},
	{ID: "004/every-5000", Experiment: everyRun, Test: every("gc-every=5000")},
	{ID: "004/gogc-10",
		Experiment: Experiment{Run: "loop --ingress main,alternate-two --gc 10 --latency off",
			Quick: "--iterations 200_000 --reps 5", Full: "--iterations 2_000_000 --reps 6"},
		Test: against("alternate-two", cell.OpCPU, 0.8)},
	{ID: "004/calm", Experiment: calmRun, Test: against("alternate-two", cell.OpCPU, 1.256)},
	{ID: "004/more-producers", Experiment: crowdRun,
		Test: against("alternate-two", cell.OpCPU, 0.279)},
	{ID: "004/near-zero", Experiment: tournamentRun,
		Test: against("alternate-two", cell.OpBytes, 0.5)},
	{ID: "004/arena", Experiment: partsRun, Test: part("arena", "lockfree", 0.705)},
	{ID: "004/lock-free", Experiment: partsRun, Test: part("lockfree", "arena", 0.779)},
	{ID: "004/clearing", Experiment: clearingRun,
		Test: Effect{Of: Side{cell.OpCPU, "clearing=on"}, Over: Side{cell.OpCPU, "clearing=off"}, Says: 0.889}},
	{ID: "004/padding", CPUs: 2, Experiment: stormRun, Test: part("padding", "lockfree", 0.79)},
	{ID: "004/option-1", Experiment: tournamentRun, Test: against("main-arena", cell.OpCPU, 0.705)},
	{ID: "004/option-2", Experiment: tournamentRun,
		Test: against("main-threshold", cell.OpCPU, 0.705)},
	{ID: "004/option-3", Experiment: tournamentRun,
		Test: Range{Of: Side{cell.OpCPU, "ingress=main-lean"}, Over: Side{cell.OpCPU, "ingress=main"}, Max: 0.95}},
	{ID: "004/allocations", Experiment: calmRun,
		Test: Range{Of: Side{cell.OpAllocs, "ingress=alternate-two"}, Over: Side{cell.OpAllocs, "ingress=main"}, Min: 0.9,
			Max: 1.1}},
	{ID: "004/bytes", Experiment: calmRun,
		Test: All{Range{Of: Side{cell.OpBytes, "ingress=alternate-two"}, Min: 12, Max: 36},
			Range{Of: Side{cell.OpBytes, "ingress=main"}, Min: 12, Max: 36}}},
	{ID: "004/bandwidth", Experiment: tournamentRun, Test: against("alternate-two", cell.OpBytes, 1.0/15)},
	{ID: "004/256", Experiment: tournamentRun, Test: against("alternate-two", cell.OpBytes, 1.0/256)},
	{ID: "004/blocked", Experiment: tournamentRun,
		Test: Range{Of: Side{cell.OpTime, "ingress=main"}, Min: 50e3, Max: inf}},
	{ID: "004/pauses", Experiment: tournamentRun,
		Test: Range{Of: Side{pauseP50, "ingress=main"}, Min: 10e6, Max: 50e6}},
	{ID: "004/storms", Experiment: stormRun,
		Test: Effect{Of: Side{cell.OpCPU, "lockfree=on padding=off"}, Over: Side{cell.OpCPU, "lockfree=off padding=off"},
			Says: 1.5}},
	{ID: "004/submit-tail", Experiment: stormRun,
		Test: Effect{Of: Side{serviceP999, "lockfree=on padding=off"}, Over: Side{serviceP999, "lockfree=off padding=off"},
			Says: 0.5}},
	{ID: "004/macos"},
}

var loopPartClaims = []Claim{
	{ID: "004/no-traversal", Experiment: arenaCost,
		Test: Range{Of: Side{cell.OpCPU, "beside=arena-full"}, Over: Side{cell.OpCPU, "beside=nothing"}, Max: 1.25}},
	{ID: "004/arena-size", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
		Test: Range{Of: Side{Metric: "/trial/arena:bytes"}, Min: 60e3, Max: 70e3}},
	{ID: "004/arena-footnote", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
		Test: Range{Of: Side{Metric: "/trial/arena:bytes"}, Min: 1.5e6, Max: 3.15e6}},
	{ID: "004/chunk-to-node", Experiment: loopTrials("sizes", "--count 1", "--count 1"),
		Test: Range{Of: Side{Metric: "/trial/chunk:bytes"}, Over: Side{Metric: "/trial/node:bytes"}, Min: 77, Max: 94}},
	{ID: "004/recycled-slots", Experiment: loopTrials("clearing", "--count 100_000", "--count 1_000_000"),
		Test: Effect{Of: Side{Metric: "/trial/cleared:slots"}, Over: Side{Metric: "/trial/used:slots"}, Says: 2.5}},
	{ID: "004/atomic-add", Experiment: slotLimits, Test: Range{Of: limit(cell.OpCPU, "atomic-add"), Max: 10}},
	{ID: "004/chunk-alloc", Experiment: slotLimits,
		Test: Range{Of: limit(cell.OpCPU, "malloc-2048"), Min: 100, Max: 1000}},
	{ID: "004/eviction", Experiment: loopTrials("eviction", "--count 1000", "--count 10000"),
		Test: Range{Of: Side{Metric: "/trial/node/left2:objects"}, Min: 1, Max: inf}},
	{ID: "004/wrap", Experiment: loopTrials("wrap", "--count 100_000", "--count 100_000"),
		Test: Range{Of: Side{Metric: lostTasks}, Min: 34464, Max: 34464}},
	{ID: "004/register", Experiment: loopTrials("register", "--count 2_000", "--count 50_000"),
		Test: Range{Of: Side{Metric: "/trial/register:allocs"}, Max: 0.1}},
	{ID: "004/fairness", CPUs: 2,
		Experiment: loopTrials("fairness", "--count 2_000_000 --producers 4", "--count 5_000_000 --producers 4"),
		Test: Effect{Of: Side{Metric: "/trial/lockfree/least:ratio"}, Over: Side{Metric: "/trial/mutex/least:ratio"},
			Says: 0.8}},
	{ID: "004/recycling",
		Experiment: loopTrials("recycle", "--count 100_000 --producers 4", "--count 1_000_000 --producers 4"),
		Test:       Range{Of: Side{Metric: "/trial/wrong:tasks"}, Min: 1, Max: inf}},
	{ID: "004/microtask-ring", CPUs: 2,
		Experiment: loopTrials("ring", "--count 1_000_000 --producers 4", "--count 10_000_000 --producers 4"),
		Test:       Share{Hits: Side{Metric: lostTasks}, Trials: Side{Metric: trialCount}}},
	{ID: "004/shutdown", CPUs: 2,
		Experiment: loopTrials("shutdown", "--count 400 --producers 4", "--count 5_000 --producers 4"),
		Test:       Share{Hits: Side{Metric: "/trial/lost:rounds"}, Trials: Side{Metric: trialCount}}},
}
