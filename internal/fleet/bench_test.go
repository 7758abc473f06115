package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// BenchmarkRoundTrip measures a block of one no-op cell: published, taken by the only
// worker, and acknowledged without storing its result. One block is out at a time. The
// server keeps its streams in files.
func BenchmarkRoundTrip(b *testing.B) {
	server := serve(b, ServerConfig{})
	startWorker(b, Options{Server: server}, workerConfig(b, "w", noop))
	f := connect(b, Options{Server: server})
	cells := make([]cell.Cell, 1000)
	for i := range cells {
		cells[i] = cell.Cell{Config: cell.Config{Workload: "alloc"}, Index: i, Block: i}
	}
	var trips []time.Duration
	sweeps := 0
	for b.Loop() {
		sweeps++
		var last time.Time
		err := f.Sweep(b.Context(), SweepConfig{
			ID: fmt.Sprint("trips", sweeps), Cells: cells, Ahead: 1, Requires: Requirement{Kind: KindLab, Version: "test"},
			Store: func([]*Result) error {
				now := time.Now()
				if !last.IsZero() {
					trips = append(trips, now.Sub(last))
				}
				last = now
				return nil
			},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(trips)
	b.ReportMetric(float64(trips[len(trips)/2].Microseconds()), "median-µs/block")
	b.ReportMetric(float64(trips[len(trips)*99/100].Microseconds()), "p99-µs/block")
}

// BenchmarkSweep runs no-op cells, in blocks, on 1,000 workers of this process, each with
// its own connection, and stores the records in SQLite.
func BenchmarkSweep(b *testing.B) {
	for _, size := range []int{1, 2, 10, 50} {
		b.Run(fmt.Sprintf("workers=1000/block=%d", size), func(b *testing.B) {
			server := serve(b, ServerConfig{})
			var connecting sync.WaitGroup
			for i := range 1000 {
				connecting.Go(func() {
					f, err := Connect(context.Background(), Options{Server: server})
					if err != nil {
						b.Error(err)
						return
					}
					config := workerConfig(b, fmt.Sprint(i), noop)
					config.Log = nil
					w := NewWorker(f, config)
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan struct{})
					go func() {
						defer close(done)
						w.Run(ctx)
					}()
					b.Cleanup(func() {
						cancel()
						<-done
						f.Close()
					})
				})
				if i%20 == 19 {
					connecting.Wait()
				}
			}
			connecting.Wait()
			f := connect(b, Options{Server: server})
			cells, seconds := 0, 0.0
			for b.Loop() {
				b.StopTimer()
				s := newStore(b, size, 30_000/size)
				config := s.sweep(b)
				config.ID, config.AckWait = fmt.Sprint("sweep", cells), 0
				b.StartTimer()
				began := time.Now()
				if err := f.Sweep(b.Context(), config); err != nil {
					b.Fatal(err)
				}
				seconds += time.Since(began).Seconds()
				cells += len(s.cells)
				b.StopTimer()
				if failures, _ := s.check(b); failures > 0 {
					b.Errorf("%d cells failed", failures)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(cells)/seconds, "cells/s")
		})
	}
}
