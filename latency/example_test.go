package latency_test

import (
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/latency"
)

func ExampleRecorder() {
	r := latency.NewRecorder() // shared by all goroutines that record
	for i := range 101 {
		r.Record(time.Duration(i) * time.Millisecond)
	}
	h := r.Snapshot()
	fmt.Println(h.Count(), h.Min(), h.Quantile(0.5), h.Quantile(0.999), h.Max())
	// Output: 101 0s 50ms 99.9ms 100ms
}

func ExampleHistogram_Merge() {
	var total latency.Histogram
	for _, part := range [][]time.Duration{{1, 2, 3}, {5, 9}} {
		var h latency.Histogram
		for _, d := range part {
			h.Record(d)
		}
		total.Merge(&h)
	}
	fmt.Println(total.Count(), total.Mean(), total.Quantile(0.5))
	// Output: 5 4ns 3ns
}

func ExampleHistogram_Buckets() {
	var h latency.Histogram
	for _, d := range []time.Duration{40, 20, 40} {
		h.Record(d)
	}
	for b := range h.Buckets() {
		fmt.Println(b.Lower, b.Upper, b.Count)
	}
	// Output:
	// 20ns 20ns 1
	// 40ns 40ns 2
}

// A stall delays the operations that become due during it. Response time shows
// the delay, service time hides it.
func ExamplePacer() {
	p := latency.Pacer{Response: latency.NewRecorder(), Service: latency.NewRecorder()}
	n := 0
	r := p.Run(context.Background(), latency.Every(1000, 100), func() {
		if n++; n == 50 {
			time.Sleep(30 * time.Millisecond)
		}
	})
	slow := func(r *latency.Recorder) (n uint64) {
		for b := range r.Snapshot().Buckets() {
			if b.Lower > 10*time.Millisecond {
				n += b.Count
			}
		}
		return n
	}
	fmt.Println("due, done, backlog:", r.Due, r.Done, r.Backlog)
	fmt.Println("more than one slow response:", slow(p.Response) > 1)
	// Output:
	// due, done, backlog: 100 100 0
	// more than one slow response: true
}
