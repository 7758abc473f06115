package claim

import "github.com/isobar-go/isobar/internal/cell"

// Experiments of document 000 that several claims share.
var (
	allocRun = Experiment{
		Run:   "alloc --gc default,tuned,off",
		Quick: "--iterations 60_000 --reps 7", Full: "--iterations 200_000 --reps 15",
	}
	tickerRun = Experiment{
		Run:   "ticker --tickrate 100_000",
		Quick: "--duration 500ms --reps 5", Full: "--duration 5s --reps 7",
	}
	strategiesRun = Experiment{
		Run:   "strategies --strategy plain,syncpool-slice,syncpool,chanpool,arena",
		Quick: "--iterations 200_000 --duration 0 --reps 7", Full: "--iterations 2_000_000 --duration 0 --reps 15",
	}
)

// hits is a Share over the trials of the one configuration of an experiment.
func hits(low, high float64) Share {
	return Share{Hits: Side{Metric: "/trial/hits:trials"}, Trials: Side{Metric: "/trial/count:trials"}, Min: low, Max: high}
}

// trials is an experiment of the workload trial.
func trials(kind, quick, full string) Experiment {
	return Experiment{Run: "trial --kind " + kind, Quick: "--trials " + quick + " --reps 4", Full: "--trials " + full + " --reps 6"}
}

func init() {
	Register(&Document{ID: "000", Title: "No Garbage Collection in Go: Performance Benchmarks", Claims: []Claim{
		{
			ID: "000/off-throughput", Section: "Step 3", Quote: "Drastically Lower Throughput: operations per second dropped", Figure: "754,000/s to 351,000/s: 2.1x the time",
			Predicts: "with the collector off an operation takes about 2.1 times as long", Experiment: allocRun,
			Test:    Effect{Of: Side{cell.OpTime, "gc=off"}, Over: Side{cell.OpTime, "gc=default"}, Says: 2.14},
			Refutes: "the same time per operation, or less, with the collector off",
			Why:     "The direction depends on what a fresh page costs against what a collection costs; both are counted in the run (page faults, GC CPU).",
		},
		{
			ID: "000/ticker", Section: "Step 4", Quote: "processing 100,000 market updates per second", Figure: "100,000 ticks/s",
			Predicts: "the loop processes at least 99 % of the ticks that are due", Experiment: tickerRun,
			Test:    Range{Of: Side{Metric: cell.Done}, Over: Side{Metric: cell.Scheduled}, Min: 0.99, Max: inf},
			Refutes: "a share below 99 %",
			Why:     "A time.Ticker drops what nobody is there to receive, so most ticks never reach the loop, and none of them is counted or timed: coordinated omission. The document's own table has 557,396 operations in 30 s, 18,500 a second.",
		},
		{
			ID: "000/chan-beats-syncpool", Section: "Step 6", Quote: "ChanPool 432.8 ns/op, SyncPool 480.5 ns/op", Figure: "0.90x",
			Predicts: "a buffer from the channel takes less time than one from a sync.Pool of pointers", Experiment: strategiesRun,
			Test:    Effect{Of: Side{cell.OpTime, "strategy=chanpool"}, Over: Side{cell.OpTime, "strategy=syncpool"}, Says: 0.90},
			Refutes: "the same time or more for the channel",
			Why:     "The document's sync.Pool holds slices, and each Put boxes one in a new interface (24 bytes, one allocation). Given pointers it allocates nothing.",
		},
		{
			ID: "000/force-beside-enable", Section: "Step 7, ForceGC", Quote: "runs a collection, and returns to the previous state", Figure: "",
			Predicts: "when the last section ends during a forced collection, the collector is on afterwards", Experiment: trials("force-beside-enable", "15", "60"),
			Test:    hits(0, 0.02),
			Refutes: "trials after which the collector is off though nobody asked for it",
			Why:     "ForceGC remembers that the collector was off, EnableGC turns it on meanwhile, and ForceGC then restores what is no longer so: the collector stays off for good.",
		},
	}})
}
