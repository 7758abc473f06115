package eventloop

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/isobar-go/isobar/latency"
)

// BenchmarkForcedGC measures Submit and run with a collection every 1,000
// tasks, by way and producers, in ns per task: the total, the time in
// runtime.GC, and the rest. The clock is read around runtime.GC only. With
// ISOBAR_SOAK=1 it runs again beside 1 GB of live heap.
func BenchmarkForcedGC(b *testing.B) {
	heaps := []int{0}
	if os.Getenv("ISOBAR_SOAK") != "" {
		heaps = append(heaps, 1<<30)
	}
	for _, heap := range heaps {
		ballast := make([][]*int, heap/(8<<13))
		for i := range ballast {
			ballast[i] = make([]*int, 1<<13)
		}
		for _, way := range ways {
			for _, producers := range []int{1, 2, 8} {
				b.Run(fmt.Sprintf("live=%dMB/%s/producers=%d", heap>>20, way.name, producers), func(b *testing.B) {
					l := newLoop(Config{}, way.make())
					startLoop(b, l)
					var first *collector
					to := func(l *Loop) submitting {
						if first == nil {
							first = &collector{submitting: way.to(l), every: 1000 / producers}
							return first
						}
						return way.to(l)
					}
					b.ResetTimer()
					submitAll(b, l, to, "task", producers, b.N)
					if err := l.Shutdown(context.Background()); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(first.took)/float64(b.N), "gc-ns/op")
					b.ReportMetric(float64(b.Elapsed()-first.took)/float64(b.N), "rest-ns/op")
				})
			}
		}
		runtime.KeepAlive(ballast)
	}
}

// A collector collects before some tasks of one producer, which owns it.
type collector struct {
	submitting
	every, n int
	took     time.Duration
}

func (c *collector) SubmitTask(t Task) error {
	if c.n++; c.n == c.every {
		c.n = 0
		start := time.Now()
		runtime.GC()
		c.took += time.Since(start)
	}
	return c.submitting.SubmitTask(t)
}

// BenchmarkSubmitTail reports percentiles of Submit alone with a collection
// every 1,000 tasks, by way and producers, with at most window tasks waiting.
func BenchmarkSubmitTail(b *testing.B) {
	for _, way := range ways {
		for _, producers := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("%s/producers=%d", way.name, producers), func(b *testing.B) {
				l := newLoop(Config{}, way.make())
				startLoop(b, l)
				rec := latency.NewRecorder()
				collects := false
				submitAll(b, l, func(l *Loop) submitting {
					s := submitting(timed{way.to(l), rec})
					if !collects {
						collects = true
						s = &collector{submitting: s, every: max(1000/producers, 1)}
					}
					return s
				}, "task", producers, b.N)
				if err := l.Shutdown(context.Background()); err != nil {
					b.Fatal(err)
				}
				h := rec.Snapshot()
				b.ReportMetric(float64(h.Quantile(0.5)), "p50-ns")
				b.ReportMetric(float64(h.Quantile(0.999)), "p99.9-ns")
			})
		}
	}
}

// timed records how long SubmitTask takes.
type timed struct {
	submitting
	rec *latency.Recorder
}

func (s timed) SubmitTask(t Task) error {
	start := time.Now()
	err := s.submitting.SubmitTask(t)
	s.rec.Record(time.Since(start))
	return err
}
