package workload

import (
	"cmp"
	"runtime"
	"runtime/metrics"
	"sync"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func init() {
	Register(&Workload{
		Name:    "workers",
		Summary: "run batches of tasks on new goroutines or on reused ones",
		Params: WithBudget("0", "10s",
			Choice("mode", "spawn", "spawn: a goroutine for each task; reuse: a fixed number of goroutines", "spawn", "reuse"),
			Int("tasks", "100", "tasks in an operation, which ends when all are done", 1, 1_000_000),
			Int("goroutines", "0", "mode reuse: number of goroutines; 0: GOMAXPROCS", 0, 100_000),
			Int("depth", "32", "nested calls in a task, each with about 300 bytes of stack", 0, 1_000_000),
		),
		New: newWorkers,
	})
}

// workers measures the fifth alternative to turning the collector off in seed document 000:
// reusing goroutines instead of starting one per task. A task nests calls, so the stack of a new
// goroutine has to grow; a reused one keeps its stack until the collector shrinks it.
type workers struct {
	Budgeted
	depth   int
	seed    uint64 // for the next operation
	results []uint64
	pending sync.WaitGroup // tasks of the current operation
	queue   chan int       // mode reuse: tasks to do; nil in mode spawn
	running sync.WaitGroup // mode reuse: the goroutines
	created uint64         // goroutines created before the first operation
}

func newWorkers(env Env) (Task, error) {
	p := env.Params
	t := &workers{Budgeted: env.Budget, depth: p.Int("depth"), seed: env.Seed, results: make([]uint64, p.Int("tasks"))}
	if p.String("mode") == "reuse" {
		t.queue = make(chan int, len(t.results))
		for range cmp.Or(p.Int("goroutines"), runtime.GOMAXPROCS(0)) {
			t.running.Go(t.work)
		}
	}
	t.created = ReadMetric("/sched/goroutines-created:goroutines")
	return t, nil
}

// work is the life of a reused goroutine.
func (t *workers) work() {
	for i := range t.queue {
		t.task(i)
	}
}

// task owns results[i] until it is done; pending.Wait hands it back.
func (t *workers) task(i int) {
	t.results[i] = descend(t.depth, t.seed+uint64(i))
	t.pending.Done()
}

func (t *workers) Loop(_ int, n int64) uint64 {
	var sum uint64
	for range n {
		t.pending.Add(len(t.results))
		for i := range t.results {
			if t.queue != nil {
				t.queue <- i
			} else {
				go t.task(i)
			}
		}
		t.pending.Wait()
		for _, r := range t.results {
			sum += r
		}
		t.seed++
	}
	return sum
}

// descend nests depth calls, each with a stack frame.
//
//go:noinline
func descend(depth int, seed uint64) uint64 {
	var frame [256]byte
	frame[seed%256] = byte(depth)
	if depth == 0 {
		return seed
	}
	below := descend(depth-1, seed*6364136223846793005+1442695040888963407)
	return below + uint64(frame[below%256])
}

// Report adds the memory of the stacks at the end, and the number of goroutines
// created. Every record has the scheduler's latency.
func (t *workers) Report(rec *cell.Record) {
	rec.Set("/workers/stack:bytes", float64(ReadMetric("/memory/classes/heap/stacks:bytes")))
	rec.Set("/workers/created:goroutines", float64(ReadMetric("/sched/goroutines-created:goroutines")-t.created))
}

// ReadMetric reads a count from package runtime/metrics.
func ReadMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (t *workers) Close() error {
	if t.queue != nil {
		close(t.queue)
		t.running.Wait()
	}
	return nil
}
