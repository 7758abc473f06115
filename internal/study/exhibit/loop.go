package exhibit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/study/ingress"
	"github.com/isobar-go/isobar/latency"
)

// loopSwitches are the switches of the ingress strategy ablation.
var loopSwitches = []workload.Param{
	workload.Switch("arena", "off", "ablation: tasks in a task arena"),
	workload.Switch("lockfree", "off", "ablation: a lock-free list instead of chunks under a mutex"),
	workload.Switch("clearing", "off", "ablation: clear only what was in use, once"),
	workload.Switch("padding", "off", "ablation: a cache line for each field that is written often"),
	workload.Switch("batching", "off", "ablation: the loop takes many tasks at once"),
}

const ablation = "ablation"

func init() {
	register(&workload.Workload{
		Name:    "loop",
		Summary: "submit tasks to an event loop in every way, with and without forced collections",
		Params: workload.WithBudget("2_000_000", "0", append([]workload.Param{
			{Name: "ingress", Default: "eventloop", // package ingress checks it
				Help: "how tasks get to the loop: " + strings.Join(ingress.Names(), ", ")},
			workload.Choice("mode", "submit", "submit: keep --inflight tasks in flight; pingpong: submit one and await its "+
				"reply", "submit", "pingpong"),
			workload.Int("producers", "1", "goroutines that submit", 1, 16),
			workload.Int("inflight", "8192", "most tasks submitted but not yet run, over all producers", 1, 100_000_000),
			workload.Int("burst", "0", "tasks that an operation submits at once, whatever is in flight; 0: one task", 0,
				10_000_000),
			workload.Int("batch", "1", "tasks per submission", 1, 64),
			workload.Int("gc-every", "0", "tasks of the first producer between its calls of runtime.GC; 0: never", 0,
				1_000_000_000),
			workload.Bytes("live", "0", "live heap besides, in objects of 128 bytes linked to trees", 0, 1<<40),
		}, loopSwitches...)...),
		New: newLoop,
	})
}

// loop is the benchmark of seed document 004, GCPressure: a producer submits
// tasks that count themselves, and calls runtime.GC every 1,000 tasks. The
// differences: tasks in flight are bounded, so that all sides run with the same
// backlog; time inside runtime.GC is measured separately; a task that does not
// run is a failure; and the document's variations are parameters.
//
// In the first half of the budget every task is the same existing function. An
// operation is a task submitted and run: a call of Loop returns when all its
// tasks have run. In the second half each task carries its submission time.
// Service time is the time in Submit (in mode pingpong the round trip, with --burst the whole
// burst), without forced collections; response time runs from submission to the start of the task.
type loop struct {
	workload.Budgeted
	seed      uint64
	in        ingress.Loop
	producers []*loopProducer
	live      *workload.TreeStore
	pingpong  bool
	burst     int64
	gcEvery   int64

	submits, starts *latency.Recorder
}

// A loopProducer is the state of one submitting goroutine, which owns the fields that the loop does not.
type loopProducer struct {
	loop   *loop
	number int
	window int64 // how many tasks may be in flight; a multiple of step
	step   int64 // tasks between two checks of the loop's progress
	batch  []func()
	count  func()        // the task of the first half
	flush  func()        // publishes ran
	timed  []timedTask   // the tasks of the second half, used in turn; one for each that may be in flight
	pong   func()        // the task of mode pingpong
	reply  chan struct{} // pong's reply
	given  int64         // tasks submitted
	nextGC int64         // index of the task before which to collect next
	gc     gcTime        // of untimed operations

	_      [64]byte
	ran    int64        // owned by the loop
	wrong  int64        // owned by the loop: timed tasks that ran out of order
	public atomic.Int64 // publishes ran, and wrong with it
}

type gcTime struct {
	spent time.Duration
	ops   int64
}

// A timedTask is reused after it has run.
type timedTask struct {
	at    time.Time // written by the producer before submission, read by the loop
	index int64     // number of the producer's earlier tasks; likewise
	run   func()
}

// stride is the step of a producer whose window is at least that large.
const stride = 64

// stalled is how long the loop may make no progress before the remaining tasks count as lost.
const stalled = 20 * time.Second

func newLoop(env workload.Env) (workload.Task, error) {
	p := env.Params
	l := &loop{
		Budgeted: env.Budget, seed: env.Seed | 1, pingpong: p.String("mode") == "pingpong",
		burst: int64(p.Int("burst")), gcEvery: int64(p.Int("gc-every")),
		submits: latency.NewRecorder(), starts: latency.NewRecorder(),
	}
	name, switches := p.String("ingress"), map[string]bool{}
	for _, s := range loopSwitches {
		if name == ablation {
			switches[s.Name] = p.Bool(s.Name)
		} else if p.String(s.Name) != s.Default {
			return nil, fmt.Errorf("--%s is a switch of --ingress %s, not of %s", s.Name, ablation, name)
		}
	}
	if l.pingpong && (l.burst > 0 || p.Int("batch") > 1) {
		return nil, errors.New("--mode pingpong submits one task at a time: leave out --burst and --batch")
	}
	producers := p.Int("producers")
	if p.Int("batch") > 1 && p.Int("inflight") < 2*stride*producers {
		return nil, fmt.Errorf("--inflight %d is too small for batches: want %d for each producer",
			p.Int("inflight"), 2*stride)
	}
	var err error
	if l.in, err = ingress.New(name, ingress.Config{Producers: producers, Switches: switches}); err != nil {
		return nil, err
	}
	l.live = workload.NewLiveHeap(p.Bytes("live"), rand.New(rand.NewPCG(env.Seed, 0x6c6f6f70)))
	window, step := int64(p.Int("inflight")/producers), int64(1)
	if window >= stride {
		step = stride
	}
	window = max(window-window%step, 1)
	for i := range producers {
		l.producers = append(l.producers, newLoopProducer(l, i, window, step, p.Int("batch")))
	}
	return l, nil
}

func newLoopProducer(l *loop, number int, window, step int64, batch int) *loopProducer {
	p := &loopProducer{
		loop: l, number: number, window: window, step: step, nextGC: l.gcEvery,
		batch: make([]func(), batch), reply: make(chan struct{}, 1),
	}
	p.count = func() {
		p.ran++
		if p.ran%step == 0 {
			p.public.Store(p.ran)
		}
	}
	p.flush = func() { p.public.Store(p.ran) }
	for i := range p.batch {
		p.batch[i] = p.count
	}
	p.pong = func() {
		p.ran++
		p.public.Store(p.ran)
		p.reply <- struct{}{}
	}
	p.timed = make([]timedTask, window)
	for i := range p.timed {
		t := &p.timed[i]
		t.run = func() {
			l.starts.Record(time.Since(t.at))
			if t.index != p.ran {
				p.wrong++
			}
			p.count()
		}
	}
	return p
}

func (l *loop) Workers() int { return len(l.producers) }

// Loop performs n operations. With n = 1 the harness times single ones: the
// task carries its submission time, and Loop does not wait for it.
func (l *loop) Loop(worker int, n int64) uint64 {
	p := l.producers[worker]
	switch {
	case l.pingpong:
		p.roundTrips(n)
	case l.burst > 0:
		p.bursts(n)
	case n == 1:
		p.submitTimed()
	default:
		for left := n; left > 0; {
			size := min(left, int64(len(p.batch)))
			if size > 1 {
				p.await(p.given + size - p.window)
			} else {
				p.makeRoom()
			}
			p.submit(size)
			left -= size
		}
		p.finish()
	}
	return uint64(n) * l.seed
}

// collect calls runtime.GC as often as it is due within the next ops tasks.
func (p *loopProducer) collect(ops int64) (spent time.Duration) {
	if p.loop.gcEvery == 0 || p.number != 0 {
		return 0
	}
	for p.given+ops > p.nextGC {
		p.nextGC += p.loop.gcEvery
		began := time.Now()
		runtime.GC()
		spent += time.Since(began)
	}
	return spent
}

// submit submits size tasks, at most a batch.
func (p *loopProducer) submit(size int64) {
	p.gc.spent += p.collect(size)
	p.gc.ops += size
	if size == 1 {
		p.loop.in.Submit(p.number, p.count)
	} else {
		p.loop.in.SubmitBatch(p.number, p.batch[:size])
	}
	p.given += size
}

// makeRoom waits, once per step, until there is room for a step of tasks.
func (p *loopProducer) makeRoom() {
	if p.given%p.step == 0 {
		p.await(p.given + p.step - p.window)
	}
}

// submitTimed submits a task that carries its submission time.
func (p *loopProducer) submitTimed() {
	p.makeRoom()
	p.collect(1)
	t := &p.timed[p.given%p.window]
	t.index = p.given
	t.at = time.Now()
	p.loop.in.Submit(p.number, t.run)
	p.loop.submits.Record(time.Since(t.at))
	p.given++
}

func (p *loopProducer) bursts(n int64) {
	for range n {
		began, collected := time.Now(), p.gc.spent
		for left := p.loop.burst; left > 0; {
			size := min(left, int64(len(p.batch)))
			p.submit(size)
			left -= size
		}
		p.finish()
		if n == 1 {
			p.loop.submits.Record(time.Since(began) - (p.gc.spent - collected))
		}
	}
}

func (p *loopProducer) roundTrips(n int64) {
	for range n {
		spent := p.collect(1)
		began := time.Now()
		p.loop.in.Submit(p.number, p.pong)
		<-p.reply
		p.given++
		if n == 1 {
			p.loop.submits.Record(time.Since(began))
			continue
		}
		p.gc.spent += spent
		p.gc.ops++
	}
}

// finish waits until all tasks have run.
func (p *loopProducer) finish() {
	p.loop.in.Submit(p.number, p.flush)
	p.await(p.given)
}

// await waits until at least n of the producer's tasks have run.
func (p *loopProducer) await(n int64) {
	if p.public.Load() >= n {
		return
	}
	seen, since := p.public.Load(), time.Now()
	for i := 1; p.public.Load() < n; i++ {
		runtime.Gosched()
		if i%1024 != 0 {
			continue
		}
		if now := p.public.Load(); now != seen {
			seen, since = now, time.Now()
		} else if time.Since(since) > stalled {
			panic(fmt.Sprintf("workload: loop: producer %d submitted %d tasks, but for %v only %d have run: "+
				"the ingress lost some", p.number, p.given, stalled, now))
		}
	}
}

// Report adds the share of forced collections and the latencies. The time per operation without
// collections is known only for one producer, because others continue while the first one collects.
func (l *loop) Report(rec *cell.Record) {
	var bulk gcTime
	for _, p := range l.producers {
		bulk.spent, bulk.ops = bulk.spent+p.gc.spent, bulk.ops+p.gc.ops
	}
	if op, ok := rec.Metrics[cell.OpTime]; ok && bulk.ops > 0 {
		op /= float64(max(l.burst, 1))
		gc := float64(bulk.spent.Nanoseconds()) / float64(bulk.ops)
		rec.Set("/loop/task/time:ns", op)
		rec.Set("/loop/gc/time:ns", gc)
		if len(l.producers) == 1 {
			rec.Set("/loop/rest/time:ns", max(op-gc, 0))
		}
	}
	for name, r := range map[string]*latency.Recorder{cell.HistService: l.submits, cell.HistResponse: l.starts} {
		if h := r.Snapshot(); h.Count() > 0 {
			rec.SetLatency(name, h)
		}
	}
}

// Close ends the loop and checks the counts.
func (l *loop) Close() error {
	if err := l.in.Close(); err != nil {
		return err
	}
	for _, p := range l.producers {
		if p.ran != p.given || p.wrong > 0 {
			return fmt.Errorf("producer %d: %d of %d tasks ran, %d of them out of turn: "+
				"the ingress lost or reordered some", p.number, p.ran, p.given, p.wrong)
		}
	}
	runtime.KeepAlive(l.live)
	return nil
}
