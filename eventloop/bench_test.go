package eventloop

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var ingresses = []struct {
	name string
	make func() ingress
}{{"lockfree", newLockFree}, {"chunked", newChunked}}

// tally is a Task made before it is submitted.
type tally struct{ n atomic.Int64 }

func (t *tally) Run() { t.n.Add(1) }

// plain is a tally that only the loop touches, but for every window-th value.
type plain struct {
	n    int64
	seen *atomic.Int64
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

// submitAll submits n tasks from some producers, with at most about 8,192
// waiting, and returns when all have run.
func submitAll(tb testing.TB, producers, n int, submit func(p *plain) error) {
	var seen atomic.Int64
	p := &plain{seen: &seen}
	var given atomic.Int64
	var wg sync.WaitGroup
	for w := range producers {
		share := n / producers
		if w == 0 {
			share += n % producers
		}
		wg.Go(func() {
			for i := range share {
				if i&255 == 255 {
					for given.Add(256)-seen.Load() > 8192 {
						given.Add(-256)
						runtime.Gosched()
					}
				}
				if err := submit(p); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkSubmit is Submit and run, per task, by ingress and producers.
func BenchmarkSubmit(b *testing.B) {
	for _, in := range ingresses {
		for _, producers := range []int{1, 2, 8} {
			for _, kind := range []string{"task", "func", "batch64"} {
				b.Run(fmt.Sprintf("ingress=%s/producers=%d/%s", in.name, producers, kind), func(b *testing.B) {
					l := newLoop(Config{}, in.make())
					startLoop(b, l)
					b.ReportAllocs()
					switch kind {
					case "task":
						submitAll(b, producers, b.N, func(p *plain) error { return l.SubmitTask(p) })
					case "func":
						var once sync.Once
						var f func()
						submitAll(b, producers, b.N, func(p *plain) error {
							once.Do(func() { f = p.Run })
							return l.Submit(f)
						})
					case "batch64":
						batch := make([]Task, 64)
						for i := range batch {
							batch[i] = new(plain)
						}
						seen := new(atomic.Int64)
						for i := range batch {
							batch[i].(*plain).seen = seen
						}
						var wg sync.WaitGroup
						for range producers {
							wg.Go(func() {
								for range b.N / 64 / producers {
									for l.Stats().Queued > 8192 {
										runtime.Gosched()
									}
									if err := l.SubmitBatch(batch); err != nil {
										b.Error(err)
										return
									}
								}
							})
						}
						wg.Wait()
					}
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
