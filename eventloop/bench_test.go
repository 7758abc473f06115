package eventloop

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/cpu"
)

var ingresses = []struct {
	name string
	make func() ingress
}{{"lockfree", newIngress}, {"locked", newLocked}}

// A submitting is a loop or a producer.
type submitting interface {
	Submit(f func()) error
	SubmitTask(t Task) error
	SubmitBatch(tasks []Task) error
}

// ways are the ways into a loop: through each ingress, and through a producer
// per goroutine.
var ways = []struct {
	name string
	make func() ingress
	to   func(l *Loop) submitting
}{
	{"ingress=lockfree", newIngress, direct},
	{"ingress=locked", newLocked, direct},
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

// plain is a tally that only the loop touches, except for every window-th
// value.
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

// window is about the largest number of waiting tasks.
const window = 8192

// pace yields while too many tasks wait. It is called every 256 tasks of a
// producer; all producers share given.
func pace(given, seen *atomic.Int64) {
	for given.Add(256)-seen.Load() > window {
		given.Add(-256)
		runtime.Gosched()
	}
}

// submitAll submits n tasks from the given number of producers and returns when
// all are on their way. kind is task, func, or batch64.
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

// BenchmarkSubmit measures Submit and run, per task, by ingress (or with a
// handle per producer) and by number of producers.
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

// BenchmarkRoundTrip measures Submit to run to reply, one at a time.
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
