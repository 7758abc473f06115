package runner

import (
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Bounds above which a figure gets a warning.
const (
	maxSteal    = 0.02 // share of CPU time
	maxPressure = 0.10 // share of time in which some task waited
	maxOtherCPU = 0.10 // CPUs
	fewCycles   = 5
)

// warnNoise reports what else disturbed the cell on the machine.
func warnNoise(rec *cell.Record) {
	n := rec.Noise
	if n.Steal > maxSteal {
		rec.Warn("steal", "the hypervisor gave %.1f %% of the CPU time to others: wall times are too long", 100*n.Steal)
	}
	if n.CPUPressure > maxPressure {
		rec.Warn("cpu-pressure", "some task waited for a CPU %.0f %% of the time: latency includes waiting",
			100*n.CPUPressure)
	}
	if n.MemoryPressure > maxPressure {
		rec.Warn("memory-pressure", "some task waited for memory %.0f %% of the time: the machine was short of memory",
			100*n.MemoryPressure)
	}
	if n.OtherCPU > maxOtherCPU {
		rec.Warn("other-cpu", "other processes used %.2f CPUs meanwhile", n.OtherCPU)
	}
}

// warnCycles warns if GC figures rest on few cycles where there should be more.
func warnCycles(rec *cell.Record) {
	gc := rec.Cell.GC
	// No cycles at all are not few: a program that allocates too little to be
	// collected has only zeros as GC figures.
	if n := rec.Metrics[cell.GCCycles]; n > 0 && n < fewCycles && (gc.Percent >= 0 || gc.LimitBytes > 0) {
		rec.Warn("few-gc", "only %.0f GC cycles: GC figures are coarse; use a longer run", n)
	}
}

// warnClock warns if operations are too short to be timed one by one. Reading
// the clock twice around an operation adds about one reading to it.
func warnClock(rec *cell.Record, mean time.Duration) {
	cost, step := clockCost()
	if mean < 2*cost {
		rec.Warn("clock", "an operation takes %v and reading the clock %v: service times are mostly the clock, %s is not",
			mean, cost, cell.OpTime)
	} else if step > mean/2 {
		rec.Warn("clock", "the clock advances in steps of %v and an operation takes %v: service times are whole steps", step,
			mean)
	}
}

// clockCost measures the cost of one clock reading and the smallest step
// between different readings.
func clockCost() (cost, step time.Duration) {
	const readings = 1000
	began := time.Now()
	last, step := time.Since(began), time.Hour
	for range readings {
		now := time.Since(began)
		if now > last {
			step = min(step, now-last)
		}
		last = now
	}
	return last / readings, step
}
