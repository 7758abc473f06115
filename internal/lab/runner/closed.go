package runner

import (
	"fmt"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/base/rusage"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/latency"
)

// batchTime is how long a worker operates between looks at the clock when
// operations are not timed.
const batchTime = 2 * time.Millisecond

// runClosed runs a closed loop in two halves of its budget: the first without
// clocks between operations, the second timing each operation. An untimed cell
// has no second half.
func runClosed(rec *cell.Record, task workload.Closed, slow *slowOps) error {
	ops, limit := task.Budget()
	if ops <= 0 && limit <= 0 || task.Workers() < 1 {
		return fmt.Errorf("runner: workload %s: a budget of %d operations and %v for %d workers: want a bound and 1 worker "+
			"or more",
			rec.Cell.Workload, ops, limit, task.Workers())
	}
	bulk := loop{task: task, bounded: ops > 0, ops: ops - ops/2, limit: limit / 2}
	single := loop{task: task, bounded: ops > 0, ops: ops / 2, limit: limit / 2}
	if rec.Cell.Untimed {
		bulk.ops, bulk.limit = ops, limit
	}
	before, cpu := allocated(), rusage.Self()
	wall := bulk.run(batches)
	used := rusage.Self().Since(cpu).CPU()
	setAllocs(rec, before, bulk.done)

	service := latency.NewRecorder()
	if !rec.Cell.Untimed {
		single.run(func(l *loop, w int, share int64, began time.Time) (int64, uint64) {
			return timed(l, w, share, began, service, slow.recorder(began))
		})
	}

	done := float64(bulk.done)
	rec.Set(cell.Ops, float64(bulk.done+single.done))
	rec.Set(cell.OpTime, float64(wall.Nanoseconds())/done)
	rec.Set(cell.Throughput, done/wall.Seconds())
	if used >= 0 {
		rec.Set(cell.OpCPU, used*1e9/done)
	}
	if ops > 0 && bulk.done+single.done == ops {
		rec.Check = fmt.Sprintf("%016x", bulk.sum+single.sum)
	}
	if single.done == 0 {
		return nil
	}
	h := service.Snapshot()
	warnClock(rec, h.Mean())
	slow.done(cell.HistService, h)
	rec.SetLatency(cell.HistService, h)
	return nil
}

// A loop is one half of a closed loop.
type loop struct {
	task    workload.Closed
	bounded bool  // by ops
	ops     int64 // over all workers
	limit   time.Duration

	mu   sync.Mutex
	done int64  // protected by mu
	sum  uint64 // protected by mu
}

// run releases all workers at once and returns the time until the last one
// finishes. Operations are divided equally beforehand, so that each worker does
// the same work in every run.
func (l *loop) run(work func(l *loop, worker int, share int64, began time.Time) (int64, uint64)) time.Duration {
	workers := l.task.Workers()
	gate := make(chan struct{})
	var began time.Time // written before gate is closed
	var ready, finished sync.WaitGroup
	ready.Add(workers)
	for w := range workers {
		share := l.ops / int64(workers)
		if int64(w) < l.ops%int64(workers) {
			share++
		}
		finished.Go(func() {
			ready.Done()
			<-gate
			done, sum := work(l, w, share, began)
			l.mu.Lock()
			l.done += done
			l.sum += sum
			l.mu.Unlock()
		})
	}
	ready.Wait()
	began = time.Now()
	close(gate)
	finished.Wait()
	return time.Since(began)
}

// batches performs the worker's share in batches that adapt to batchTime.
func batches(l *loop, worker int, share int64, began time.Time) (done int64, sum uint64) {
	last := time.Since(began)
	for n := int64(1); !l.bounded || done < share; {
		if l.bounded {
			n = min(n, share-done)
		}
		sum += l.task.Loop(worker, n)
		done += n
		now := time.Since(began)
		if l.limit > 0 && now >= l.limit {
			break
		}
		switch took := now - last; {
		case took < batchTime/2:
			n *= 2
		case took > batchTime*2:
			n = max(n/2, 1)
		}
		last = now
	}
	return done, sum
}

// timed performs the worker's share one operation at a time. Service times
// exclude the cost of recording.
func timed(l *loop, worker int, share int64, began time.Time, service *latency.Recorder,
	slow *opRecorder) (done int64, sum uint64) {
	for !l.bounded || done < share {
		start := time.Since(began)
		sum += l.task.Loop(worker, 1)
		end := time.Since(began)
		service.Record(end - start)
		slow.add(start, end)
		done++
		if l.limit > 0 && end >= l.limit {
			break
		}
	}
	return done, sum
}
