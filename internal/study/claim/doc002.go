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
	Register(&Document{ID: "002", Title: "Go, don't collect my garbage", Claims: []Claim{
		{
			ID: "002/two-goroutines", Section: "on two goroutines", Quote: "Almost double, so pretty good", Figure: "55,966/s against 30,619/s: 1.09x the time each",
			Predicts: "a signature takes the same CPU time on two goroutines as on one, within 25 %", Experiment: signersRun, CPUs: 2,
			Test:    Range{Of: Side{cell.OpCPU, "goroutines=2"}, Over: Side{cell.OpCPU, "goroutines=1"}, Min: 0.8, Max: 1.25},
			Refutes: "signatures that cost more on two",
			Why:     "What two goroutines share, the collector and its locks, takes CPU time from both.",
		}, {
			ID: "002/four-beat-48", Section: "on four goroutines", Quote: "actually faster than 48 goroutines, what is going on?", Figure: "108,731/s against 78,941/s: 1.38x the time",
			Predicts: "a signature takes 1.38 times the CPU time on 48 goroutines as on four", Experiment: signersRun,
			Test:    Effect{Of: Side{cell.OpCPU, "goroutines=48"}, Over: Side{cell.OpCPU, "goroutines=4"}, Says: 1.377},
			Refutes: "the same CPU time",
			Why:     "Goroutines beyond the CPUs wait, they do not contend; what collapsed was the sweeper of an older Go on 48 threads, and 002/peak says where those are to be had.",
		}, {
			ID: "002/peak", Section: "for every number of goroutines", Quote: "peaks at 274,622, with 17 goroutines, and starts dropping rapidly", Figure: "0.29x with 48",
			Predicts:   "48 goroutines on as many threads sign 0.29 times as much as 17",
			Experiment: Experiment{Run: "scaling --kind ecdsa --goroutines 17,48", Quick: "--duration 300ms --reps 5", Full: "--duration 4s --reps 6"}, CPUs: 24,
			Test:    Effect{Of: Side{cell.Throughput, "goroutines=48"}, Over: Side{cell.Throughput, "goroutines=17"}, Says: 0.287},
			Refutes: "as many signatures with 48", Why: "Signing allocates far less today.",
		}, {
			ID: "002/scaling", Section: "the optimum", Quote: "22.56X times faster than the single core score", Figure: "22.6x on 24 cores",
			Predicts:   "24 goroutines with GOGC=11300 sign 22.6 times as much as one",
			Experiment: Experiment{Run: "scaling --kind ecdsa --goroutines 1,24 --gc 11300", Quick: "--duration 300ms --reps 5", Full: "--duration 4s --reps 6"}, CPUs: 24,
			Test:    Effect{Of: Side{cell.Throughput, "goroutines=24"}, Over: Side{cell.Throughput, "goroutines=1"}, Says: 22.56},
			Refutes: "less than a quarter of it", Why: "Cores share clocks and memory.",
		}, {
			ID: "002/gc-wastes-90", Section: "gctrace", Quote: "at least 90% of the time is wasted (indirectly) on GC", Figure: "90 %",
			Predicts: "without the collector a signature takes half of the CPU time or less", Experiment: signGOGCRun,
			Test:    Range{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=100"}, Max: 0.5},
			Refutes: "more than half of the CPU time is left",
			Why:     "P-256 signing in today's standard library allocates a few kB a signature, and a collection of a live heap next to nothing is short.",
		}, {
			ID: "002/collection-rate", Section: "gctrace", Quote: "the benchmark runs for 10 seconds, and I saw 6,790 rounds of GC", Figure: "116 signatures a collection",
			Predicts: "there is a collection every 58 to 232 signatures", Experiment: signGOGCRun,
			Test:    Range{Of: Side{cell.Ops, "gc=100"}, Over: Side{cell.GCCycles, "gc=100"}, Min: 58, Max: 232},
			Refutes: "more signatures, or fewer, from one collection to the next",
			Why:     "The heap still grows by 4 MB from one collection to the next: a signature allocates less of it than it did.",
		}, {
			ID: "002/live-heap-fixed", Section: "gctrace", Quote: "having more goroutines does not add to the live heap", Figure: "1 MB",
			Predicts: "48 goroutines have at most twice the live heap of one", Experiment: signersRun,
			Test:    Range{Of: Side{cell.HeapLive, "goroutines=48"}, Over: Side{cell.HeapLive, "goroutines=1"}, Min: 0.3, Max: 2},
			Refutes: "a live heap that grows with goroutines", Why: "What each goroutine has in hand when a collection begins is live.",
		}, {
			ID: "002/more-frequent", Section: "gctrace", Quote: "freshly allocated data grows faster with each goroutine, triggering more frequent GC cycles", Figure: "as many collections a signature",
			Predicts: "collections follow signatures: as many for equally many on 48 goroutines as on one, within a third", Experiment: signersRun,
			Test:    Range{Of: Side{cell.GCCycles, "goroutines=48"}, Over: Side{cell.GCCycles, "goroutines=1"}, Min: 0.67, Max: 1.5},
			Refutes: "more collections a signature, or fewer", Why: "What goroutines have in hand is live, and a larger live heap puts the next collection off.",
		}, {
			ID: "002/off", Section: "GOGC=off", Quote: "This lead to a dramatic improvement", Figure: "413,740/s against 78,941/s: 0.19x the time",
			Predicts: "with the collector off a signature takes 0.19 times the CPU time", Experiment: signGOGCRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.191},
			Refutes: "the same CPU time",
			Why:     "There is little left to save: the collector takes about a tenth of the CPU time.",
		}, {
			ID: "002/gogc-2400", Section: "GOGC=2400", Quote: "collecting garbage 24 times less frequently will do the trick", Figure: "671,539/s against 78,941/s: 0.12x the time",
			Predicts: "with GOGC=2400 a signature takes 0.12 times the CPU time", Experiment: signGOGCRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=2400"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.1176},
			Refutes: "the same CPU time", Why: "As with the collector off: what can be saved is what it takes, about a tenth.",
		}, {
			ID: "002/off-loses", Section: "GOGC=2400", Quote: "671538.90 op/s, oh my that is getting better (than off)", Figure: "off takes 1.62x the time",
			Predicts: "with the collector off a signature takes 1.62 times the CPU time of GOGC=2400", Experiment: signGOGCRun,
			Test:    Effect{Of: Side{cell.OpCPU, "gc=off"}, Over: Side{cell.OpCPU, "gc=2400"}, Says: 1.62},
			Refutes: "the same CPU time",
			Why:     "Off loses by the first touch of fresh pages, and a signature's few kB are a fraction of a page or two against 20 µs of arithmetic.",
		}, {
			ID: "002/optimum", Section: "the best value", Quote: "the optimal value for GOGC in that case is 11,300", Figure: "691,054/s against 685,811/s with 4,800: 0.992x the time",
			Predicts: "with GOGC=11300 a signature takes at least 5 % less CPU time than with 4800", Experiment: signGOGCRun,
			Test:    Range{Of: Side{cell.OpCPU, "gc=11300"}, Over: Side{cell.OpCPU, "gc=4800"}, Max: 0.95},
			Refutes: "a difference of less than 5 %: a plateau, not an optimum",
			Why:     "Its own figures for 4,800 and 11,300 differ by 0.8 %: above a few thousand the curve is flat, and the best of 200 measured values is where the noise was kind.",
		}, {
			ID: "002/tune", Section: "conclusion", Quote: "Don't be afraid to tune the GC to suit your needs",
			Predicts:   "work that allocates much beside a live heap takes 0.8 times the CPU time with GOGC=800",
			Experiment: Experiment{Run: "scaling --kind trees --goroutines 2 --live 40MB --gc 100,800 --latency off", Quick: "--duration 150ms --reps 5", Full: "--duration 4s --reps 6"},
			Test:       Effect{Of: Side{cell.OpCPU, "gc=800"}, Over: Side{cell.OpCPU, "gc=100"}, Says: 0.8},
			Refutes:    "the same CPU time", Why: "What GOGC saves is what collections cost, and that depends on the live heap.",
		},
	}})
}
