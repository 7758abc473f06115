package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

// Experiments of document 002 that several claims share.
var (
	signersRun = Experiment{
		Run:   "scaling --kind ecdsa --goroutines 1,2,4,48 --latency off",
		Quick: "--iterations 12_000 --duration 0 --reps 5", Full: "--iterations 100_000 --duration 0 --reps 6",
	}
	signGOGCRun = Experiment{
		Run:   "scaling --kind ecdsa --goroutines 2 --gc 100,2400,4800,11300,off --latency off",
		Quick: "--iterations 6_000 --duration 0 --reps 5", Full: "--iterations 100_000 --duration 0 --reps 6",
	}
)

func init() {
	Register(&Document{ID: "002", Title: "Go, don't collect my garbage", Claims: claims002})
}

var claims002 = []Claim{
	{ID: "002/two-goroutines", CPUs: 2, Experiment: signersRun,
		Test: Range{Of: Side{cell.OpCPU, "goroutines=2"}, Over: Side{cell.OpCPU, "goroutines=1"}, Min: 0.8, Max: 1.25}},
	{ID: "002/four-beat-48", Experiment: signersRun,
		Test: Effect{Of: Side{cell.OpCPU, "goroutines=48"}, Over: Side{cell.OpCPU, "goroutines=4"}, Says: 1.377}},
	{ID: "002/peak", CPUs: 24,
		Experiment: Experiment{Run: "scaling --kind ecdsa --goroutines 17,48", Quick: "--duration 300ms --reps 5",
			Full: "--duration 4s --reps 6"},
		Test: Effect{Of: Side{cell.Throughput, "goroutines=48"}, Over: Side{cell.Throughput, "goroutines=17"}, Says: 0.287}},
	{ID: "002/scaling", CPUs: 24,
		Experiment: Experiment{Run: "scaling --kind ecdsa --goroutines 1,24 --gc 11300", Quick: "--duration 300ms --reps 5",
			Full: "--duration 4s --reps 6"},
		Test: Effect{Of: Side{cell.Throughput, "goroutines=24"}, Over: Side{cell.Throughput, "goroutines=1"}, Says: 22.56}},
	{ID: "002/gc-wastes-90", Experiment: signGOGCRun,
		Test: Range{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=100"}, Max: 0.5}},
	{ID: "002/collection-rate", Experiment: signGOGCRun,
		Test: Range{Of: Side{cell.Ops, "gc=100"}, Over: Side{cell.GCCycles, "gc=100"}, Min: 58, Max: 232}},
	{ID: "002/live-heap-fixed", Experiment: signersRun,
		Test: Range{Of: Side{cell.HeapLive, "goroutines=48"}, Over: Side{cell.HeapLive, "goroutines=1"}, Min: 0.3, Max: 2}},
	{ID: "002/more-frequent", Experiment: signersRun,
		Test: Range{Of: Side{cell.GCCycles, "goroutines=48"}, Over: Side{cell.GCCycles, "goroutines=1"}, Min: 0.67,
			Max: 1.5}},
	{ID: "002/off", Experiment: signGOGCRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.191}},
	{ID: "002/gogc-2400", Experiment: signGOGCRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=2400"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.1176}},
	{ID: "002/gogc-4800", Experiment: signGOGCRun,
		Test: Range{Of: Side{cell.OpCPU, "gc=4800"}, Over: Side{cell.OpCPU, "gc=2400"}, Min: 0.9, Max: 0.99}},
	{ID: "002/gctrace-percent", Experiment: signGOGCRun,
		Test: Range{Of: Side{cell.GCCPUShare, "gc=100"}, Min: 0.06, Max: 0.24}},
	{ID: "002/cpus-busy", CPUs: 48, Experiment: signersRun,
		Test: Range{Of: Side{cell.CPUBusy, "goroutines=48"}, Min: 18, Max: 27}},
	{ID: "002/off-loses", Experiment: signGOGCRun,
		Test: Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=2400"}, Says: 1.62}},
	{ID: "002/optimum", Experiment: signGOGCRun,
		Test: Range{Of: Side{cell.OpCPU, "gc=11300"}, Over: Side{cell.OpCPU, "gc=4800"}, Max: 0.95}},
	{ID: "002/goal", Experiment: signersRun,
		Test: Range{Of: Side{cell.GoalMax, "goroutines=48"}, Max: 6.5e6}},
	{ID: "002/profile", Experiment: signersRun,
		Test: Range{Of: Side{cell.GCCPUShare, "goroutines=48"}, Min: 0.3, Max: inf}},
	{ID: "002/hyperthreads"},
	{ID: "002/frequency"},
	{ID: "002/tune",
		Experiment: Experiment{Run: "scaling --kind trees --goroutines 2 --live 40MB --gc 100,800 --latency off",
			Quick: "--duration 150ms --reps 5", Full: "--duration 4s --reps 6"},
		Test: Effect{Of: Side{cell.OpCPU, "gc=800"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.8}},
}
