package runner

import (
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// fewCycles is the number of cycles below which GC figures get a warning.
const fewCycles = 5

// warnCycles warns if GC figures are based on few cycles although collection is on.
func warnCycles(rec *cell.Record) {
	gc := rec.Cell.GC
	// A program that never collects gets no warning: it allocates too little, and its
	// GC figures are exactly zero.
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
