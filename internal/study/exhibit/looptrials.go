package exhibit

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/study/ingress"
)

var loopTrialCases = map[string]func(*loopTrial, *cell.Record) error{
	"clearing": (*loopTrial).clearing,
	"eviction": (*loopTrial).eviction,
	"fairness": (*loopTrial).fairness,
	"register": (*loopTrial).register,
	"recycle":  (*loopTrial).recycle,
	"ring":     (*loopTrial).ring,
	"shutdown": (*loopTrial).shutdown,
	"sizes":    (*loopTrial).sizes,
	"wrap":     (*loopTrial).wrap,
}

func init() {
	register(&workload.Workload{
		Name:    "loop-trials",
		Summary: "parts of the event loop in seed document 004, unchanged: count lost tasks, evicted objects",
		Params: []workload.Param{
			workload.Choice("trial", "wrap", "clearing (slots of chunks given back), eviction (pooled objects left after "+
				"collections), fairness (of a mutex and a lock-free list), recycle (pooled nodes of a lock-free list), register "+
				"(a descriptor, by allocations), ring (its microtask ring), shutdown (beside Submit), sizes (bytes), wrap (its "+
				"task arena)", slices.Sorted(maps.Keys(loopTrialCases))...),
			workload.Int("count", "100_000", "tasks, objects or rounds", 1, 100_000_000),
			workload.Int("producers", "4", "goroutines that submit, in recycle, ring and shutdown", 1, 64),
		},
		New: func(env workload.Env) (workload.Task, error) {
			t := &loopTrial{env.Params.Int("count"), env.Params.Int("producers")}
			run := loopTrialCases[env.Params.String("trial")]
			return whole(func(rec *cell.Record) error {
				rec.Set("/trial/count:items", float64(t.count))
				return run(t, rec)
			}), nil
		},
	})
}

// loopTrial runs parts of the document's loop and counts the outcome. Where the document's
// code has a data race, this one has atomics: it counts what the order of steps loses, not
// what else the race may break.
type loopTrial struct {
	count     int
	producers int
}

const taskArenaLen = 65536

// A taskArena is the document's: it hands out its slots in turn, even if the
// task in a slot has not run.
type taskArena struct {
	buffer [taskArenaLen]loopTask
	head   atomic.Uint32 // slots handed out; all producers add; publishes nothing
}

type loopTask struct{ run func() }

func (a *taskArena) alloc() *loopTask { return &a.buffer[(a.head.Add(1)-1)%taskArenaLen] }

// wrap submits count tasks to an arena before the first of them runs, and
// counts those that never run.
func (t *loopTrial) wrap(rec *cell.Record) error {
	arena, queue := new(taskArena), make([]*loopTask, 0, t.count)
	ran := make([]bool, t.count)
	for i := range t.count {
		slot := arena.alloc()
		slot.run = func() { ran[i] = true }
		queue = append(queue, slot)
	}
	for _, slot := range queue {
		slot.run()
	}
	lost := 0
	for _, ok := range ran {
		if !ok {
			lost++
		}
	}
	rec.Set("/trial/lost:tasks", float64(lost))
	return nil
}

// sizes reports the sizes of the document's types.
func (t *loopTrial) sizes(rec *cell.Record) error {
	rec.Set("/trial/arena:bytes", float64(unsafe.Sizeof(taskArena{}.buffer)))
	rec.Set("/trial/task:bytes", float64(unsafe.Sizeof(loopTask{})))
	rec.Set("/trial/node:bytes", float64(unsafe.Sizeof(ingress.Node{})))
	rec.Set("/trial/chunk:bytes", float64(unsafe.Sizeof([128]loopTask{})))
	return nil
}

// eviction puts count nodes and as many chunks into pools, and counts what is
// left of each after one collection and after two.
func (t *loopTrial) eviction(rec *cell.Record) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, size := range []struct {
		name string
		make func() any
	}{
		{"node", func() any { return new(ingress.Node) }},
		{"chunk", func() any { return new([128]loopTask) }},
	} {
		for collections := range 3 {
			left := survivors(t.count, collections, size.make)
			rec.Set(fmt.Sprintf("/trial/%s/left%d:objects", size.name, collections), float64(left))
		}
	}
	return nil
}

// survivors returns how many of count objects a sync.Pool still has after some
// collections.
func survivors(count, collections int, make func() any) (left int) {
	var pool sync.Pool
	for range count {
		pool.Put(make())
	}
	for range collections {
		runtime.GC()
	}
	for pool.Get() != nil {
		left++
	}
	return left
}

// recycle lets producers push count tasks each, with collections running, and
// counts the tasks that were lost, doubled or out of order.
func (t *loopTrial) recycle(rec *cell.Record) error {
	list, last := ingress.NewList(), make([]int, t.producers) // last is owned by the loop
	wrong, ran, total := 0, 0, t.count*t.producers
	var pushing sync.WaitGroup
	for p := range t.producers {
		pushing.Go(func() {
			for i := range t.count {
				list.Push(func() {
					if last[p] != i {
						wrong++
					}
					last[p] = i + 1
				})
			}
		})
	}
	pushed := make(chan struct{})
	go func() { pushing.Wait(); close(pushed) }()
	for done := false; ; {
		if f := list.Pop(); f != nil {
			f()
			if ran++; ran%(total/20+1) == 0 {
				runtime.GC()
			}
			continue
		}
		if done {
			break
		}
		select {
		case <-pushed:
			done = true // check once more
		default:
			runtime.Gosched()
		}
	}
	rec.Set("/trial/run:tasks", float64(ran))
	rec.Set("/trial/wrong:tasks", float64(wrong+total-ran))
	return nil
}

const loopRingLen = 4096

// A loopRing is the document's microtask ring: a producer takes an index, which is visible at once,
// and then stores its task there. The loop mistakes an empty slot for a cleared task and moves on.
type loopRing struct {
	tail  atomic.Uint64 // indexes taken by producers
	head  atomic.Uint64 // indexes that the loop is done with; stored by the loop
	slots [loopRingLen]atomic.Pointer[func()]
}

func (r *loopRing) push(f *func()) {
	i := r.tail.Add(1) - 1
	r.slots[i%loopRingLen].Store(f)
}

// ring lets producers push count tasks each and counts those that do not run.
func (t *loopTrial) ring(rec *cell.Record) error {
	r, ran := new(loopRing), 0
	task := func() { ran++ }
	var pushing sync.WaitGroup
	for range t.producers {
		pushing.Go(func() {
			for range t.count {
				for r.tail.Load()-r.head.Load() > loopRingLen/2 {
					runtime.Gosched()
				}
				r.push(&task)
			}
		})
	}
	var pushed atomic.Bool // publishes that all producers have pushed
	go func() { pushing.Wait(); pushed.Store(true) }()
	for empty := 0; ; {
		head := r.head.Load()
		if head < r.tail.Load() {
			if f := r.slots[head%loopRingLen].Swap(nil); f != nil {
				(*f)()
			}
			r.head.Store(head + 1)
			continue
		}
		if pushed.Load() && head == r.tail.Load() {
			break
		}
		if empty++; empty%4096 == 0 { // like a loop that waits for its next task
			runtime.Gosched()
		}
	}
	rec.Set("/trial/lost:tasks", float64(t.count*t.producers-ran))
	return nil
}

// shutdown begins and ends count loops while producers submit, and counts the
// rounds in which an accepted task never ran.
func (t *loopTrial) shutdown(rec *cell.Record) error {
	rounds, lost := 0, 0
	for range t.count {
		if n := shutdownRound(t.producers); n > 0 {
			rounds++
			lost += n
		}
	}
	rec.Set("/trial/lost:tasks", float64(lost))
	rec.Set("/trial/lost:rounds", float64(rounds))
	return nil
}

// shutdownBacklog is the number of waiting tasks at which producers pause.
const shutdownBacklog = 1000

// shutdownRound returns how many tasks were accepted but not run. Submit checks
// the state and then pushes, like the document's; when told to end, the loop
// drains what it finds.
func shutdownRound(producers int) int {
	const running, terminating, terminated = 0, 1, 2
	var state atomic.Uint32        // publishes nothing: the list carries the tasks
	var accepted, ran atomic.Int64 // tasks of all producers, and those that ran; publish nothing
	list, task := ingress.NewList(), func() { ran.Add(1) }
	var submitting sync.WaitGroup
	for range producers {
		submitting.Go(func() {
			for state.Load() == running {
				if accepted.Load()-ran.Load() > shutdownBacklog {
					runtime.Gosched()
					continue
				}
				list.Push(task)
				accepted.Add(1)
			}
		})
	}
	tick := func(budget int) {
		for ; budget > 0; budget-- {
			f := list.Pop()
			if f == nil {
				return
			}
			f()
		}
	}
	for ran.Load() < 100 {
		tick(64)
	}
	state.Store(terminating)
	tick(math.MaxInt) // what is there, and at most one more task per producer
	state.Store(terminated)
	submitting.Wait()
	return int(accepted.Load() - ran.Load())
}
