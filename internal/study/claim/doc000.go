package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 000 that several claims share. Those of one goroutine
// run on one processor: on two, an idle one marks as well, and how much it finds
// to do changes from run to run.
var (
	allocRun = Experiment{
		Run:   "alloc --gc default,tuned,off --gomaxprocs 1",
		Quick: "--iterations 40_000 --reps 5", Full: "--iterations 200_000 --reps 6",
	}
	maximaRun = Experiment{
		Run:   "alloc --gc default,off --iterations 20_000",
		Quick: "--reps 5", Full: "--reps 6",
	}
	tickerRun = Experiment{
		Run:   "ticker --tickrate 100_000",
		Quick: "--duration 400ms --reps 5", Full: "--duration 5s --reps 6",
	}
	tickpoolRun = Experiment{
		Run:   "tickpool --pool off,on --gc default,off --gomaxprocs 1",
		Quick: "--iterations 250_000 --reps 5", Full: "--iterations 2_000_000 --reps 6",
	}
	strategiesRun = Experiment{
		Run:   "strategies --strategy syncpool,syncpool-slice,chanpool,arena,plain --gomaxprocs 1 --latency off",
		Quick: "--iterations 100_000 --duration 0 --reps 5", Full: "--iterations 1_000_000 --duration 0 --reps 6",
	}
	plainRun = Experiment{
		Run:   "strategies --strategy plain --gc default,tuned,off --gomaxprocs 1 --latency off",
		Quick: "--iterations 75_000 --duration 0 --reps 5", Full: "--iterations 500_000 --duration 0 --reps 6",
	}
	batchesRun = Experiment{
		Run:   "batches --toggle off,on --garbage 128 --live 10MB",
		Quick: "--interval 150ms --duration 400ms --reps 5", Full: "--interval 1s --duration 3s --reps 6",
	}
)

func init() {
	Register(&Document{ID: "000", Title: "No Garbage Collection in Go: Performance Benchmarks", Claims: claims000})
}

var claims000 = []Claim{
	{ID: "000/pauses-short", Experiment: allocRun,
		Test: Range{Of: Side{pauseP50, "gc=default"}, Max: 5e6}},
	{ID: "000/trigger",
		Experiment: Experiment{Run: "scaling --kind json --goroutines 1 --live 20MB", Quick: "--duration 500ms --reps 5",
			Full: "--duration 4s --reps 6"},
		Test: Range{Of: Side{Metric: cell.GoalMax}, Over: Side{Metric: cell.HeapLive}, Min: 1.7, Max: 2.4}},
	{ID: "000/max-is-a-pause", Experiment: maximaRun,
		Test: Range{Of: Side{serviceMax, "gc=default"}, Over: Side{pauseP50, "gc=default"}, Max: 10}},
	{ID: "000/outliers-from-gc", Experiment: maximaRun,
		Test: Range{Of: Side{serviceMax, "gc=off"}, Over: Side{serviceP50, "gc=off"}, Max: 20}},
	{ID: "000/off-throughput", Experiment: allocRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 2.14}},
	{ID: "000/off-median", Experiment: allocRun,
		Test: Effect{Of: Side{serviceP50, "gc=off"}, Over: Side{serviceP50, "gc=default"}, Says: 2.47}},
	{ID: "000/off-memory", Experiment: allocRun,
		Test: Range{Of: Side{cell.RSSPeak, "gc=off"}, Over: Side{cell.Ops, "gc=off"}, Min: 9000, Max: 14000}},
	{ID: "000/off-swaps", Experiment: allocRun,
		Test: Range{Of: Side{cell.MajorFaults, "gc=off"}, Min: 1, Max: inf}},
	{ID: "000/off-fragments",
		Experiment: Experiment{Run: "alloc --gc off --gomaxprocs 1 --iterations 20_000,100_000", Quick: "--reps 5",
			Full: "--reps 6"},
		Test: Effect{Of: Side{cell.OpCPU, "iterations=100_000"}, Over: Side{cell.OpCPU, "iterations=20_000"}, Says: 2}},
	{ID: "000/tuned-tail", Experiment: allocRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=tuned"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 0.9}},
	{ID: "000/timed-operation",
		Experiment: Experiment{Run: "retain --remove swap,shift", Quick: "--iterations 40_000 --reps 5",
			Full: "--iterations 200_000 --reps 6"},
		Test: Range{Of: Side{cell.OpCPU, "remove=shift"}, Over: Side{cell.OpCPU, "remove=swap"}, Min: 0.8, Max: 1.25}},
	{ID: "000/ticker", Experiment: tickerRun,
		Test: Range{Of: Side{Metric: cell.Done}, Over: Side{Metric: cell.Scheduled}, Min: 0.99, Max: inf}},
	{ID: "000/ticker-mean", Experiment: tickerRun,
		Test: Range{Of: Side{Metric: serviceMean}, Min: 500e3, Max: inf}},
	{ID: "000/ticker-throughput", Experiment: tickerRun,
		Test: Range{Of: Side{Metric: cell.Throughput}, Min: 500e3, Max: inf}},
	{ID: "000/ticks-off-throughput", Experiment: tickpoolRun,
		Test: Effect{Of: Side{cell.OpCPU, "pool=off gc=off"}, Over: Side{cell.OpCPU, "pool=off gc=default"}, Says: 1.13}},
	{ID: "000/ticks-off-p99", Experiment: tickpoolRun,
		Test: Effect{Of: Side{serviceP99, "pool=off gc=off"}, Over: Side{serviceP99, "pool=off gc=default"}, Says: 1.99}},
	{ID: "000/ticks-off-memory", Experiment: tickpoolRun,
		Test: Effect{Of: Side{cell.RSSPeak, "pool=off gc=off"}, Over: Side{cell.RSSPeak, "pool=off gc=default"}, Says: 4}},
	{ID: "000/pool-cycles", Experiment: tickpoolRun,
		Test: Effect{Of: Side{cell.GCCycles, "pool=on gc=default"}, Over: Side{cell.GCCycles, "pool=off gc=default"},
			Says: 0.464}},
	{ID: "000/pool-memory", Experiment: tickpoolRun,
		Test: Effect{Of: Side{cell.RSSPeak, "pool=on gc=off"}, Over: Side{cell.RSSPeak, "pool=off gc=off"}, Says: 0.62}},
	{ID: "000/pool-throughput", Experiment: tickpoolRun,
		Test: Effect{Of: Side{cell.OpCPU, "pool=on gc=off"}, Over: Side{cell.OpCPU, "pool=off gc=off"}, Says: 1.06}},
	{ID: "000/pool-no-allocation", Experiment: tickpoolRun,
		Test: Range{Of: Side{cell.OpAllocs, "pool=on gc=default"}, Max: 0.01}},
	{ID: "000/pool-reset", Experiment: trials("stale-timestamp", "1000", "10000"),
		Test: hits(0, 0.02)},
	{ID: "000/syncpool-drops", Experiment: trials("syncpool-after-1", "100", "1000"),
		Test: hits(0.98, 1)},
	{ID: "000/sharded-pool", Experiment: trials("sharded-pool", "8", "8"), Test: hits(0.5, 1)},
	{ID: "000/values",
		Experiment: Experiment{Run: "values --return value,pointer --size small", Quick: "--iterations 200_000 --reps 5",
			Full: "--iterations 2_000_000 --reps 6"},
		Test: All{Range{Of: Side{cell.OpAllocs, "return=pointer"}, Min: 0.9, Max: 1.1},
			Range{Of: Side{cell.OpAllocs, "return=value"}, Max: 0.01}}},
	{ID: "000/large-pointers",
		Experiment: Experiment{Run: "values --return value,pointer --size large --latency off",
			Quick: "--iterations 100_000 --reps 5", Full: "--iterations 1_000_000 --reps 6"},
		Test: Effect{Of: Side{cell.OpCPU, "return=pointer"}, Over: Side{cell.OpCPU, "return=value"}, Says: 0.8}},
	{ID: "000/prealloc-slice",
		Experiment: Experiment{Run: "prealloc --kind slice --hint off,on --latency off",
			Quick: "--iterations 10_000 --reps 5", Full: "--iterations 100_000 --reps 6"},
		Test: All{Range{Of: Side{cell.OpAllocs, "hint=on"}, Min: 0.9, Max: 1.1},
			Range{Of: Side{cell.OpAllocs, "hint=off"}, Min: 2, Max: inf},
			Effect{Of: Side{cell.OpCPU, "hint=on"}, Over: Side{cell.OpCPU, "hint=off"}, Says: 0.8}}},
	{ID: "000/prealloc-map",
		Experiment: Experiment{Run: "prealloc --kind map --hint off,on --latency off", Quick: "--iterations 1_000 --reps 5",
			Full: "--iterations 10_000 --reps 6"},
		Test: Effect{Of: Side{cell.OpCPU, "hint=on"}, Over: Side{cell.OpCPU, "hint=off"}, Says: 0.8}},
	{ID: "000/arena-tokens", Experiment: trials("arena-tokens", "500", "5000"), Test: hits(0, 0.02)},
	{ID: "000/arena-large", Experiment: trials("arena-large", "50", "500"), Test: hits(0, 0.02)},
	{ID: "000/arena-slot", Experiment: trials("arena-slot", "100", "1000"), Test: hits(0, 0.02)},
	{ID: "000/arena-fastest", Experiment: strategiesRun,
		Test: Effect{Of: Side{cell.OpCPU, "strategy=arena"}, Over: Side{cell.OpCPU, "strategy=plain"}, Says: 0.643}},
	{ID: "000/chan-beats-boxing", Experiment: strategiesRun,
		Test: Effect{Of: Side{cell.OpCPU, "strategy=chanpool"}, Over: Side{cell.OpCPU, "strategy=syncpool-slice"},
			Says: 0.90}},
	{ID: "000/chan-beats-syncpool",
		Experiment: Experiment{Run: "strategies --strategy syncpool,chanpool --size 16 --gomaxprocs 1 --latency off",
			Quick: "--iterations 500_000 --duration 0 --reps 5", Full: "--iterations 5_000_000 --duration 0 --reps 6"},
		Test: Effect{Of: Side{cell.OpCPU, "strategy=chanpool"}, Over: Side{cell.OpCPU, "strategy=syncpool"}, Says: 0.90}},
	{ID: "000/syncpool-boxes", Experiment: strategiesRun,
		Test: Range{Of: Side{cell.OpBytes, "strategy=syncpool-slice"}, Min: 23, Max: 25}},
	{ID: "000/plain-off", Experiment: plainRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 1.185}},
	{ID: "000/plain-tuned", Experiment: plainRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=tuned"}, Over: Side{cell.OpCPU, "gc=default"}, Says: 0.95}},
	{ID: "000/benchmark-settings", Experiment: trials("percent-leak", "20", "100"),
		Test: hits(0, 0.02)},
	{ID: "000/force-beside-enable", Experiment: trials("force-beside-enable", "15", "60"),
		Test: hits(0, 0.02)},
	{ID: "000/during-beside-enable", Experiment: trials("during-beside-enable", "15", "60"),
		Test: hits(0, 0.02)},
	{ID: "000/off-at-once", Experiment: trials("off-while-marking", "5", "20"), Test: hits(0, 0.25)},
	{ID: "000/keeps-gogc", Experiment: trials("controller-env", "20", "100"), Test: hits(0.98, 1)},
	{ID: "000/enable-to-collect", Experiment: trials("gc-while-off", "10", "50"), Test: hits(0, 0.02)},
	{ID: "000/hybrid-latency", Experiment: batchesRun,
		Test: Effect{Of: Side{serviceP99, "toggle=on"}, Over: Side{serviceP99, "toggle=off"}, Says: 0.8}},
	{ID: "000/hybrid-memory", Experiment: batchesRun,
		Test: Range{Of: Side{cell.HeapMax, "toggle=on"}, Over: Side{cell.HeapMax, "toggle=off"}, Max: 1.5}},
}
