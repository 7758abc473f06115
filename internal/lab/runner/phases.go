package runner

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/gc/phase"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

const (
	// phasesAbove is the quantile above which operations are attributed.
	phasesAbove = 0.999
	// maxPhasesTrace limits a trace that is not kept; later operations are not
	// attributed.
	maxPhasesTrace = 256 << 20
)

// slowOps keeps a cell's slowest operations until its trace shows what the
// collector did meanwhile. A nil slowOps keeps none.
type slowOps struct {
	began time.Time     // of the phase, as the trace's anchor has it; written before it begins
	took  time.Duration // of the phase; written after it

	mu      sync.Mutex
	ops     []*opRecorder // guarded by mu
	latency string        // which of the histograms; written after the phase
	all     *latency.Histogram
}

// An opRecorder belongs to one goroutine.
type opRecorder struct {
	clock   time.Time // when the goroutine's clock started
	slowest *phase.Slowest
}

// begin marks the start of the measured phase; earlier parts of the trace, such
// as the forced collection, are ignored.
func (s *slowOps) begin() {
	if s != nil {
		s.began = phase.Anchor()
	}
}

// end marks the end of the phase.
func (s *slowOps) end() {
	if s != nil {
		s.took = time.Since(s.began)
	}
}

// recorder returns a recorder for a goroutine whose clock started at clock; nil
// if nothing is to be kept.
func (s *slowOps) recorder(clock time.Time) *opRecorder {
	if s == nil {
		return nil
	}
	r := &opRecorder{clock: clock, slowest: phase.NewSlowest(phase.Kept)}
	s.mu.Lock()
	s.ops = append(s.ops, r)
	s.mu.Unlock()
	return r
}

// add records an operation.
func (r *opRecorder) add(start, end time.Duration) {
	if r != nil {
		r.slowest.Add(phase.Op{Start: int64(start), End: int64(end)})
	}
}

// done names the histogram that the operations belong to.
func (s *slowOps) done(name string, h *latency.Histogram) {
	if s != nil {
		s.latency, s.all = name, h
	}
}

// attribute reads the trace and records what the slowest operations overlapped.
func (s *slowOps) attribute(rec *cell.Record, trace string) error {
	if s.all == nil || s.all.Count() == 0 {
		rec.Warn("phases", "workload %s has no operations timed by this process: nothing is attributed to phases of the "+
			"collector", rec.Cell.Workload)
		return nil
	}
	f, err := os.Open(trace)
	if err != nil {
		return err
	}
	defer f.Close()
	line, err := phase.Read(f)
	if err != nil {
		return err
	}
	if line.Anchor == 0 {
		return fmt.Errorf("the trace has no anchor, so its start is unknown")
	}
	threshold := slowerThan(s.all)
	var ops []phase.Op
	for _, r := range s.ops {
		zero := line.Anchor + int64(r.clock.Sub(s.began))
		for _, op := range r.slowest.Above(threshold) {
			ops = append(ops, phase.Op{Start: zero + op.Start, End: zero + op.End})
		}
	}
	line.Start, line.End = max(line.Start, line.Anchor), min(line.End, line.At(s.took))
	p := line.Attribute(ops, rec.Cell.Seed)
	p.Latency, p.Above, p.ThresholdNs, p.Total = s.latency, phasesAbove, threshold, int64(s.all.Count())
	rec.Phases = &p
	if p.SlowestNs > 0 {
		rec.Set(cell.SlowestStopped, float64(p.SlowestStoppedNs)/float64(p.SlowestNs))
	}
	if line.Cut != nil {
		rec.Warn("phases-cut", "the trace ends after %v: slow operations after that are not attributed",
			time.Duration(p.WindowNs).Round(time.Millisecond))
	}
	return nil
}

// slowerThan returns the nanoseconds above which operations are attributed: the
// quantile or, if a stall put more operations into its bucket than the quantile
// leaves above, just below that bucket, so that some remain above.
func slowerThan(h *latency.Histogram) int64 {
	threshold := h.Quantile(phasesAbove)
	if threshold < h.Max() {
		return int64(threshold)
	}
	for b := range h.Buckets() {
		if b.Upper >= threshold {
			return max(int64(b.Lower)-1, 0)
		}
	}
	return int64(threshold)
}

// capped is a file that silently stops at a limit, because the tracer has no
// use for an error.
type capped struct {
	f    *os.File
	left int
}

func (c *capped) Write(b []byte) (int, error) {
	if len(b) > c.left {
		c.left = 0
		return len(b), nil
	}
	c.left -= len(b)
	return c.f.Write(b)
}
