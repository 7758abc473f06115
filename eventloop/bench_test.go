package eventloop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/isobar-go/isobar/latency"
)

var ingresses = []struct {
	name string
	make func() ingress
}{{"lockfree", newLockFree}, {"chunked", newChunked}}

// A submitting is a loop or a producer.
type submitting interface {
	Submit(f func()) error
	SubmitTask(t Task) error
	SubmitBatch(tasks []Task) error
}

// ways are the ways into a loop: through each ingress, and through a producer
// for each goroutine.
var ways = []struct {
	name string
	make func() ingress
	to   func(l *Loop) submitting
}{
	{"ingress=lockfree", newLockFree, direct},
	{"ingress=chunked", newChunked, direct},
	{"handles", newIngress, handle},
}

func direct(l *Loop) submitting { return l }

func handle(l *Loop) submitting {
	p, err := l.Producer()
	if err != nil {
		panic(err)
	}
	return p
}

// tally is a Task made before it is submitted.
type tally struct{ n atomic.Int64 }

func (t *tally) Run() { t.n.Add(1) }

// plain is a tally that only the loop touches, but for every window-th value.
type plain struct {
	_    cpu.CacheLinePad
	n    int64
	seen *atomic.Int64
	_    cpu.CacheLinePad
}

func (p *plain) Run() {
	p.n++
	if p.n&255 == 0 {
		p.seen.Store(p.n)
	}
}

func startLoop(tb testing.TB, l *Loop) {
	tb.Helper()
	end := make(chan error, 1)
	go func() { end <- l.Run(context.Background()) }()
	for l.runner.Load() == 0 {
		runtime.Gosched()
	}
	tb.Cleanup(func() {
		l.Close()
		if err := <-end; err != nil {
			tb.Error(err)
		}
	})
}

// window is about how many tasks wait at most.
const window = 8192

// pace lets the others go on while too many tasks wait. It is called every 256
// tasks of a producer; given is shared by all producers.
func pace(given, seen *atomic.Int64) {
	for given.Add(256)-seen.Load() > window {
		given.Add(-256)
		runtime.Gosched()
	}
}

// submitAll submits n tasks from some producers and returns when all are on
// their way. kind is task, func, or batch64.
func submitAll(tb testing.TB, l *Loop, to func(*Loop) submitting, kind string, producers, n int) {
	var given, seen atomic.Int64
	p := &plain{seen: &seen}
	f := p.Run
	var wg sync.WaitGroup
	for w := range producers {
		share := n / producers
		if w == 0 {
			share += n % producers
		}
		s := to(l)
		wg.Go(func() {
			batch := make([]Task, 64)
			for i := range batch {
				batch[i] = p
			}
			for i := 0; i < share; {
				var err error
				switch kind {
				case "task":
					err = s.SubmitTask(p)
					i++
				case "func":
					err = s.Submit(f)
					i++
				default:
					err = s.SubmitBatch(batch)
					i += len(batch)
				}
				if err != nil {
					tb.Error(err)
					return
				}
				if i&255 == 0 {
					pace(&given, &seen)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkSubmit is Submit and run, per task, by ingress, or with a handle for
// each producer, and by producers.
func BenchmarkSubmit(b *testing.B) {
	for _, way := range ways {
		for _, producers := range []int{1, 2, 8} {
			for _, kind := range []string{"task", "func", "batch64"} {
				b.Run(fmt.Sprintf("%s/producers=%d/%s", way.name, producers, kind), func(b *testing.B) {
					l := newLoop(Config{}, way.make())
					startLoop(b, l)
					b.ReportAllocs()
					b.ResetTimer()
					submitAll(b, l, way.to, kind, producers, b.N)
					if err := l.Shutdown(context.Background()); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

type ping struct{ reply chan struct{} }

func (p *ping) Run() { p.reply <- struct{}{} }

// BenchmarkRoundTrip is Submit to run to reply, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	for _, in := range ingresses {
		b.Run("ingress="+in.name, func(b *testing.B) {
			l := newLoop(Config{}, in.make())
			startLoop(b, l)
			p := &ping{make(chan struct{}, 1)}
			b.ReportAllocs()
			for b.Loop() {
				if err := l.SubmitTask(p); err != nil {
					b.Fatal(err)
				}
				<-p.reply
			}
		})
	}
}

// A wheel is the alternative to the heap: a hierarchical timing wheel (Varghese
// and Lauck, 1987) with 256 slots a level and a resolution of one
// millisecond. It is here for BenchmarkTimer.
type wheel struct {
	now   int64 // in ticks
	slots [4][256]*wheelTimer
}

type wheelTimer struct {
	due        int64
	next, prev *wheelTimer
	slot       **wheelTimer
}

const wheelTick = int64(time.Millisecond)

func (w *wheel) add(due int64, t *wheelTimer) {
	t.due = max((due+wheelTick-1)/wheelTick, w.now+1)
	w.place(t)
}

func (w *wheel) place(t *wheelTimer) {
	level, d := 0, t.due^w.now
	for level < 3 && d>>(8*(level+1)) != 0 {
		level++
	}
	t.slot = &w.slots[level][t.due>>(8*level)&255]
	t.prev, t.next = nil, *t.slot
	if t.next != nil {
		t.next.prev = t
	}
	*t.slot = t
}

func (w *wheel) cancel(t *wheelTimer) {
	if t.prev == nil {
		*t.slot = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
}

// advance moves the wheel by one tick and returns what is due.
func (w *wheel) advance() (due *wheelTimer) {
	w.now++
	for level := 3; level > 0; level-- {
		if w.now&(1<<(8*level)-1) == 0 {
			s := &w.slots[level][w.now>>(8*level)&255]
			list := *s
			*s = nil
			for list != nil {
				t := list
				list = list.next
				w.place(t)
			}
		}
	}
	s := &w.slots[0][w.now&255]
	due, *s = *s, nil
	return due
}

// BenchmarkTimer sets, cancels and runs timers among a million pending ones, in
// the heap and in a wheel. An operation of churn is setting one timer and
// cancelling another, of drain the run of one timer.
func BenchmarkTimer(b *testing.B) {
	const pendingTimers = 1 << 20
	const span = int64(100 * time.Second)
	r := rand.New(rand.NewPCG(1, 2))
	due := make([]int64, pendingTimers)
	for i := range due {
		due[i] = r.Int64N(span)
	}
	nop := func() {}
	b.Run("heap/churn", func(b *testing.B) {
		var q timers
		all := make([]*timer, pendingTimers)
		for i := range all {
			all[i] = &timer{run: nop}
			q.add(due[i], all[i])
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			j := i * 7919 & (pendingTimers - 1)
			q.cancel(all[j])
			all[j] = &timer{run: nop}
			q.add(due[i&(pendingTimers-1)], all[j])
		}
	})
	b.Run("wheel/churn", func(b *testing.B) {
		var w wheel
		all := make([]*wheelTimer, pendingTimers)
		for i := range all {
			all[i] = new(wheelTimer)
			w.add(due[i], all[i])
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			j := i * 7919 & (pendingTimers - 1)
			w.cancel(all[j])
			all[j] = new(wheelTimer)
			w.add(due[i&(pendingTimers-1)], all[j])
		}
	})
	b.Run("heap/drain", func(b *testing.B) {
		var q timers
		fill := func() {
			for i := range due {
				q.add(due[i], &timer{run: nop})
			}
		}
		fill()
		for b.Loop() {
			if run, _ := q.due(span, 1<<62); run == nil {
				b.StopTimer()
				fill()
				b.StartTimer()
			}
		}
	})
	b.Run("wheel/drain", func(b *testing.B) {
		var w wheel
		fill := func() {
			for i := range due {
				w.add(w.now*wheelTick+due[i], new(wheelTimer))
			}
		}
		fill()
		left := pendingTimers
		var list *wheelTimer
		for b.Loop() {
			for list == nil {
				if left == 0 {
					b.StopTimer()
					fill()
					left = pendingTimers
					b.StartTimer()
				}
				list = w.advance()
			}
			list = list.next
			left--
		}
	})
	b.Run("loop/after-cancel", func(b *testing.B) {
		l := mustNew(b, Config{})
		for i := range due {
			if _, err := l.After(time.Hour+time.Duration(due[i]), nop); err != nil {
				b.Fatal(err)
			}
		}
		startLoop(b, l)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			t, err := l.After(time.Hour+time.Duration(due[i&(pendingTimers-1)]), nop)
			if err != nil || !t.Cancel() {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSubmitTail is Submit alone under a collection every 1,000 tasks; it
// reports its percentiles.
func BenchmarkSubmitTail(b *testing.B) {
	for _, in := range ingresses {
		for _, producers := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("ingress=%s/producers=%d", in.name, producers), func(b *testing.B) {
				l := newLoop(Config{}, in.make())
				startLoop(b, l)
				rec := latency.NewRecorder()
				var gc time.Duration
				var wg sync.WaitGroup
				task := new(tally)
				for p := range producers {
					wg.Go(func() {
						for i := range b.N / producers {
							start := time.Now()
							l.SubmitTask(task)
							rec.Record(time.Since(start))
							if p == 0 && i%1000 == 0 {
								start := time.Now()
								runtime.GC()
								gc += time.Since(start)
							}
						}
					})
				}
				wg.Wait()
				h := rec.Snapshot()
				b.ReportMetric(float64(h.Quantile(0.5)), "p50-ns")
				b.ReportMetric(float64(h.Quantile(0.999)), "p99.9-ns")
				b.ReportMetric(float64(gc)/float64(b.N), "gc-ns/op")
			})
		}
	}
}
