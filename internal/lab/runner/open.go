package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/latency"
)

// runOpen paces an open loop. It stops after three quarters of the cell's
// timeout: a loop that cannot keep up reports its backlog instead of being
// killed without a figure.
func runOpen(rec *cell.Record, task workload.Open, slow *slowOps) error {
	s := schedule{task: task}
	pacer := latency.Pacer{
		Response: latency.NewRecorder(),
		Service:  latency.NewRecorder(),
	}
	if limit := rec.Cell.Timeout; limit > 0 {
		pacer.Deadline = max(limit/4*3-time.Since(rec.Started), 1)
	}
	before := allocated()
	var sum uint64
	ops := slow.recorder(time.Time{})
	if ops != nil {
		pacer.Observe = func(due, _, ended time.Duration) { ops.add(due, ended) }
	}
	result := pacer.Run(context.Background(), &s, func() { sum += task.Do() })
	if ops != nil {
		ops.clock = result.Start
	}
	setAllocs(rec, before, result.Done)

	rec.Set(cell.MaxBacklog, float64(result.MaxBacklog))
	if result.Backlog > 0 {
		rec.Warn("backlog", "%d of %d operations had not started when time ran out: the rate is more than this "+
			"configuration can handle", result.Backlog, result.Due)
	} else if s.err == nil {
		rec.Check = fmt.Sprintf("%016x", sum)
	}
	response := pacer.Response.Snapshot()
	slow.done(cell.HistResponse, response)
	d := workload.Driving{Due: result.Due, Done: result.Done, Elapsed: result.Elapsed,
		Response: response, Service: pacer.Service.Snapshot()}
	d.Record(rec)
	return s.err
}

// schedule is the task's schedule; an error ends it.
type schedule struct {
	task workload.Open
	err  error
}

func (s *schedule) Next() (time.Duration, bool) {
	due, ok, err := s.task.Next()
	if err != nil {
		s.err = err
		return 0, false
	}
	return due, ok
}
