// Package eventloop_test compares Isobar's event loop with its peers: the
// loop of goja_nodejs, a goroutine behind a buffered channel, and the two loops
// of seed document 004, rebuilt in the lab so that they lose nothing. An operation
// is one task submitted and run, on a loop on a goroutine of its own. All
// sides submit a task that exists beforehand, in the form that costs them least,
// keep at most window tasks in flight, and yield where they can go no further.
//
// The document's descendant, github.com/joeycumines/go-eventloop, is missing
// where the module proxy does not have it.
package eventloop_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja_nodejs/eventloop"

	isobar "github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/internal/study/ingress"
	"github.com/isobar-go/isobar/latency"
)

// window is how many tasks may be in flight, over all producers.
const window = 8192

// A side is a running loop. submit returns what submits f, again and again,
// by one goroutine; batch the same for 64 times f at once. batch is nil where
// there is none.
type side struct {
	submit func(producer int, f func()) func()
	batch  func(producer int, f func()) func()
	stop   func()
}

const batchLen = 64

type impl struct {
	name  string
	start func(b testing.TB, producers int) side
}

var impls = []impl{
	{"isobar", startIsobar},
	{"isobar-producer", startProducers},
	{"goja_nodejs", startGoja},
	{"document-main", rebuilt("main")},
	{"document-alternatetwo", rebuilt("alternate-two")},
	{"channel", rebuilt("channel")},
}

type method func()

func (m method) Run() { m() }

// startIsobar submits through the loop.
func startIsobar(b testing.TB, producers int) side {
	l, stop := runIsobar(b)
	submitters := make([]submitter, producers)
	for i := range submitters {
		submitters[i] = l
	}
	return isobarSide(b, submitters, stop)
}

// startProducers submits through a Producer each.
func startProducers(b testing.TB, producers int) side {
	l, stop := runIsobar(b)
	submitters := make([]submitter, producers)
	for i := range submitters {
		p, err := l.Producer()
		if err != nil {
			b.Fatal(err)
		}
		submitters[i] = p
	}
	return isobarSide(b, submitters, stop)
}

func runIsobar(b testing.TB) (l *isobar.Loop, stop func()) {
	l, err := isobar.New(isobar.Config{})
	if err != nil {
		b.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- l.Run(context.Background()) }()
	return l, func() {
		if err := l.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
		if err := <-end; err != nil {
			b.Error(err)
		}
	}
}

type submitter interface {
	SubmitTask(isobar.Task) error
	SubmitBatch([]isobar.Task) error
}

func isobarSide(b testing.TB, submitters []submitter, stop func()) side {
	check := func(err error) {
		if err != nil {
			b.Error(err)
		}
	}
	return side{
		submit: func(producer int, f func()) func() {
			s, task := submitters[producer], isobar.Task(method(f))
			return func() { check(s.SubmitTask(task)) }
		},
		batch: func(producer int, f func()) func() {
			s, tasks := submitters[producer], make([]isobar.Task, batchLen)
			for i := range tasks {
				tasks[i] = method(f)
			}
			return func() { check(s.SubmitBatch(tasks)) }
		},
		stop: stop,
	}
}

func startGoja(b testing.TB, _ int) side {
	l := eventloop.NewEventLoop(eventloop.EnableConsole(false))
	l.Start()
	return side{
		submit: func(_ int, f func()) func() {
			task := func(*goja.Runtime) { f() }
			return func() {
				if !l.RunOnLoop(task) {
					b.Error("goja_nodejs: refused")
				}
			}
		},
		stop: l.Terminate,
	}
}

// rebuilt starts a strategy of the lab.
func rebuilt(name string) func(testing.TB, int) side {
	return func(b testing.TB, producers int) side {
		l, err := ingress.New(name, ingress.Config{Producers: producers})
		if err != nil {
			b.Skip(err)
		}
		return side{
			submit: func(producer int, f func()) func() { return func() { l.Submit(producer, f) } },
			batch: func(producer int, f func()) func() {
				tasks := make([]func(), batchLen)
				for i := range tasks {
					tasks[i] = f
				}
				return func() { l.SubmitBatch(producer, tasks) }
			},
			stop: func() {
				if err := l.Close(); err != nil {
					b.Error(err)
				}
			},
		}
	}
}

// A count is a task that counts itself. The loop owns ran.
type count struct {
	ran    int
	_      [64]byte
	public atomic.Int64 // publishes ran, with every 64th task
}

func (c *count) run() {
	c.ran++
	if c.ran%64 == 0 {
		c.public.Store(int64(c.ran))
	}
}

// produce submits at least n tasks, n and window multiples of 64, and waits until
// they have run. before is called before each.
func (s side) produce(producer, producers, n int, batch bool, before func(i int)) *count {
	c := new(count)
	submit, size := s.submit(producer, c.run), 1
	if batch {
		submit, size = s.batch(producer, c.run), batchLen
	}
	for i := 0; i < n; i += size {
		if i%64 == 0 {
			for int64(i+64)-c.public.Load() > int64(window/producers) {
				runtime.Gosched()
			}
		}
		if before != nil {
			before(i)
		}
		submit()
	}
	for c.public.Load() < int64(n) {
		runtime.Gosched()
	}
	return c
}

// up rounds n up to a multiple of 64.
func up(n int) int { return (n + 63) / 64 * 64 }

func bench(b *testing.B, i impl, producers int, batch bool) {
	s := i.start(b, producers)
	if batch && s.batch == nil {
		s.stop()
		b.Skip("has no batches")
	}
	b.ReportAllocs()
	runtime.GC() // what the benchmark before left
	each := up((b.N + producers - 1) / producers)
	var wg sync.WaitGroup
	counts := make([]*count, producers)
	b.ResetTimer()
	for p := range producers {
		wg.Go(func() { counts[p] = s.produce(p, producers, each, batch, nil) })
	}
	wg.Wait()
	b.StopTimer()
	// Rounded up to whole batches, there may be more tasks than b.N.
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(each*producers), "ns/op")
	s.stop()
	for _, c := range counts {
		if c.ran != each {
			b.Fatalf("%d of %d tasks ran", c.ran, each)
		}
	}
}

// BenchmarkSubmit compares tasks submitted singly; rest is a producer for each P but
// the loop's.
func BenchmarkSubmit(b *testing.B) {
	for _, producers := range []string{"1", "2", "8", "rest"} {
		n, err := strconv.Atoi(producers)
		if err != nil {
			n = runtime.GOMAXPROCS(0) - 1
		}
		if err != nil && n < 2 {
			continue // as with one producer
		}
		for _, i := range impls {
			b.Run("producers="+producers+"/impl="+i.name, func(b *testing.B) { bench(b, i, n, false) })
		}
	}
}

// BenchmarkSubmitBatch compares tasks submitted 64 at once.
func BenchmarkSubmitBatch(b *testing.B) {
	for _, i := range impls {
		if i.name != "goja_nodejs" { // it has no batches
			b.Run("producers=1/impl="+i.name, func(b *testing.B) { bench(b, i, 1, true) })
		}
	}
}

// BenchmarkRoundTrip compares a task and the answer to it, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	for _, i := range impls {
		b.Run("impl="+i.name, func(b *testing.B) {
			s := i.start(b, 1)
			reply := make(chan struct{}, 1)
			submit := s.submit(0, func() { reply <- struct{}{} })
			b.ReportAllocs()
			runtime.GC()
			for b.Loop() {
				submit()
				<-reply
			}
			s.stop()
		})
	}
}

// A gcClock measures calls of runtime.GC, one before every 1,000th task.
type gcClock struct{ spent time.Duration }

func (g *gcClock) before(i int) {
	if i%1000 == 0 {
		began := time.Now()
		runtime.GC()
		g.spent += time.Since(began)
	}
}

func forced(b *testing.B, i impl, rest bool) {
	s := i.start(b, 1)
	var gc gcClock
	n := up(b.N)
	runtime.GC()
	b.ResetTimer()
	c := s.produce(0, 1, n, false, gc.before)
	b.StopTimer()
	total := b.Elapsed()
	b.ReportMetric(float64(gc.spent.Nanoseconds())/float64(n), "gc-ns/op")
	if rest {
		total -= gc.spent
	}
	b.ReportMetric(float64(total.Nanoseconds())/float64(n), "ns/op")
	s.stop()
	if c.ran != n {
		b.Fatalf("%d of %d tasks ran", c.ran, n)
	}
}

// BenchmarkForcedGC is the document's GCPressure: one producer, which calls
// runtime.GC with every 1,000th task. Nearly all of it is the collection.
func BenchmarkForcedGC(b *testing.B) {
	for _, i := range impls {
		b.Run("of=total/impl="+i.name, func(b *testing.B) { forced(b, i, false) })
	}
	// Without the time inside runtime.GC.
	for _, i := range impls {
		b.Run("of=rest/impl="+i.name, func(b *testing.B) { forced(b, i, true) })
	}
}

// BenchmarkSubmitTail is the 99.9th percentile of Submit alone, as ns/op, under
// a collection with every 1,000th task.
func BenchmarkSubmitTail(b *testing.B) {
	for _, i := range impls {
		b.Run("p=99.9/impl="+i.name, func(b *testing.B) {
			s := i.start(b, 1)
			rec := latency.NewRecorder()
			timed := side{submit: func(producer int, f func()) func() {
				submit := s.submit(producer, f)
				return func() {
					began := time.Now()
					submit()
					rec.Record(time.Since(began))
				}
			}}
			var gc gcClock
			timed.produce(0, 1, up(max(b.N, 20_000)), false, gc.before)
			b.ReportMetric(float64(rec.Snapshot().Quantile(0.999)), "ns/op")
			s.stop()
		})
	}
}

// TestSides: each side runs every task of every producer, and in order.
func TestSides(t *testing.T) {
	const producers, n = 3, 6400
	for _, i := range impls {
		t.Run(i.name, func(t *testing.T) {
			s := i.start(t, producers)
			var wg sync.WaitGroup
			for p := range producers {
				wg.Go(func() {
					for _, batch := range []bool{false, true} {
						if batch && s.batch == nil {
							continue
						}
						if c := s.produce(p, producers, n, batch, nil); c.ran != n {
							t.Errorf("batch %v: %d of %d tasks ran", batch, c.ran, n)
						}
					}
					next := 0 // owned by the loop until done is closed
					for want := range 100 {
						s.submit(p, func() {
							if next != want {
								t.Errorf("task %d ran as number %d", want, next)
							}
							next++
						})()
					}
					done := make(chan struct{})
					s.submit(p, func() { close(done) })()
					<-done
					if next != 100 {
						t.Errorf("%d of 100 tasks ran in order", next)
					}
				})
			}
			wg.Wait()
			s.stop()
		})
	}
}
