package cell

import (
	"slices"

	"github.com/isobar-go/isobar/internal/gc/phase"
)

// Phases say what the collector did during the slowest operations of a cell.
type Phases struct {
	// Latency names the histogram whose slowest operations these are: HistResponse
	// or HistService. It is empty if the workload times something else, such as
	// submissions to a loop.
	Latency string `json:"latency,omitempty"`
	// Above is the quantile that the slow operations exceed, such as 0.999;
	// ThresholdNs is its value. Ops of Total operations exceed it.
	Above       float64 `json:"above"`
	ThresholdNs int64   `json:"threshold_ns"`
	Ops         int64   `json:"ops"`
	Total       int64   `json:"total"`
	// WindowNs is the length of the time examined.
	WindowNs int64 `json:"window_ns"`
	// SlowestNs is the slowest operation; for SlowestStoppedNs of it the world was
	// stopped for a collection.
	SlowestNs        int64 `json:"slowest_ns"`
	SlowestStoppedNs int64 `json:"slowest_stopped_ns"`
	// Rows are the phases, most severe first.
	Rows []phase.Row `json:"rows"`
}

// Add adds the phases of another repetition.
func (p *Phases) Add(q *Phases) {
	if p.Rows == nil {
		*p = *q
		p.Rows = slices.Clone(q.Rows)
		return
	}
	if q.SlowestNs > p.SlowestNs {
		p.SlowestNs, p.SlowestStoppedNs = q.SlowestNs, q.SlowestStoppedNs
	}
	p.ThresholdNs = max(p.ThresholdNs, q.ThresholdNs)
	p.Ops, p.Total, p.WindowNs = p.Ops+q.Ops, p.Total+q.Total, p.WindowNs+q.WindowNs
	for i := range min(len(p.Rows), len(q.Rows)) {
		p.Rows[i].Ops += q.Rows[i].Ops
		p.Rows[i].Chance += q.Rows[i].Chance
		p.Rows[i].TimeNs += q.Rows[i].TimeNs
	}
}
