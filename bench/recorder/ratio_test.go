package recorder

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/isobar-go/isobar/latency"
)

const (
	batch = 1 << 14 // records between two readings of the clock
	pairs = 400
)

// ours returns the time that one batch of records takes, per record.
func ours(r *latency.Recorder) float64 {
	began := time.Now()
	for i := range batch {
		r.Record(durations[i&(len(durations)-1)])
	}
	return float64(time.Since(began).Nanoseconds()) / batch
}

// theirs does the same work with the peer.
func theirs(h *hdr.Histogram) float64 {
	began := time.Now()
	for i := range batch {
		_ = h.RecordValue(int64(durations[i&(len(durations)-1)]))
	}
	return float64(time.Since(began).Nanoseconds()) / batch
}

// ratios measures a and b in turn and returns the quartiles of a/b.
func ratios(a, b func() float64) (q1, median, q3 float64) {
	rs := make([]float64, pairs)
	for i := range rs {
		var x, y float64
		if i%2 == 0 {
			x = a()
			y = b()
		} else {
			y = b()
			x = a()
		}
		rs[i] = x / y
	}
	slices.Sort(rs)
	return rs[pairs/4], rs[pairs/2], rs[3*pairs/4]
}

// The recorder is safe for many goroutines, its peer for one. The bar is 1.5
// times the peer's cost; the assertion leaves room for a noisy machine. The
// peer's cost differs between processes, so judge by several runs.
func TestRecordAgainstPeer(t *testing.T) {
	r := latency.NewRecorder()
	h := hdr.New(1, int64(time.Hour), 3)
	q1, median, q3 := ratios(
		func() float64 { return ours(r) },
		func() float64 { return theirs(h) },
	)
	t.Logf("Recorder.Record / hdrhistogram-go RecordValue, one goroutine: %.2f [%.2f, %.2f]", median, q1, q3)
	if median > 3 {
		t.Errorf("a record costs %.2f times the peer's: want about 1.5 or less", median)
	}
}

// Two goroutines at once must not slow each other down: the time of a batch
// stays what it is for one alone.
func TestTwoGoroutinesAgainstOne(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two Ps")
	}
	one, two := latency.NewRecorder(), latency.NewRecorder()
	q1, median, q3 := ratios(
		func() float64 {
			// Both begin together, so that they overlap.
			var ready, done sync.WaitGroup
			var other float64
			ready.Add(2)
			meet := func() { ready.Done(); ready.Wait() }
			done.Go(func() { meet(); other = ours(two) })
			meet()
			mine := ours(two)
			done.Wait()
			return (mine + other) / 2
		},
		func() float64 { return ours(one) },
	)
	t.Logf("Recorder.Record with 2 goroutines / with 1, per record: %.2f [%.2f, %.2f]", median, q1, q3)
	if median > 3 {
		t.Errorf("a record costs %.2f times as much with two goroutines as with one: want about 1", median)
	}
}
