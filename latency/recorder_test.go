package latency

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestRecordAllocatesNothing(t *testing.T) {
	r := NewRecorder()
	d := time.Duration(0)
	if n := testing.AllocsPerRun(10_000, func() { r.Record(d); d += time.Microsecond }); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}

// Many goroutines record while another takes snapshots. Snapshots are consistent, include everything in earlier ones,
// and the last one holds every record.
func TestConcurrentRecordsAreAllCounted(t *testing.T) {
	const goroutines = 8
	records := 200_000
	if testing.Short() {
		records = 20_000
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := NewRecorder()
	want := make([]Histogram, goroutines)
	var writers, reader sync.WaitGroup
	stop := make(chan struct{})
	for g := range goroutines {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 7))
			for range records {
				d := time.Duration(10_000 * random.ExpFloat64())
				r.Record(d)
				want[g].Record(d)
			}
		})
	}
	reader.Go(func() {
		for last := uint64(0); ; {
			h := r.Snapshot()
			// One record per P may be among the exact values but not yet in a bucket.
			if h.Count()+4 < last {
				t.Errorf("a snapshot of %d records after one of %d", h.Count(), last)
			}
			last = h.Count()
			consistent(t, h)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(stop)
	reader.Wait()
	var all Histogram
	for g := range want {
		all.Merge(&want[g])
	}
	if got := r.Snapshot(); !same(got, &all) {
		t.Errorf("the last snapshot holds %d records, mean %v, from %v to %v; want %d, %v, %v, %v",
			got.Count(), got.Mean(), got.Min(), got.Max(), all.Count(), all.Mean(), all.Min(), all.Max())
	}
}

func consistent(t *testing.T, h *Histogram) {
	t.Helper()
	var n uint64
	first, last := time.Duration(-1), time.Duration(0)
	for b := range h.Buckets() {
		n += b.Count
		if first < 0 {
			first = b.Upper
		}
		last = b.Lower
	}
	if n != h.Count() || n > 0 && (h.Min() > first || h.Max() < last || h.Mean() < h.Min() || h.Mean() > h.Max()) {
		t.Errorf("%d of %d values in buckets, min %v, mean %v, max %v", n, h.Count(), h.Min(), h.Mean(), h.Max())
	}
}

// The limit of exact values applies to all shards together.
func TestExactAcrossShards(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{exactLimit, exactLimit + 4} {
		r := NewRecorder()
		var all Histogram
		var wg sync.WaitGroup
		for g := range 4 {
			for i := range n / 4 {
				all.Record(time.Duration(g * i))
			}
			wg.Go(func() {
				for i := range n / 4 {
					r.Record(time.Duration(g * i))
				}
			})
		}
		wg.Wait()
		if got := r.Snapshot(); !same(got, &all) {
			t.Errorf("%d values over shards: exact %t, want %t", n, got.Exact(), all.Exact())
		}
	}
}

func TestShardsFollowGOMAXPROCS(t *testing.T) {
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	r := NewRecorder()
	r.Record(1)
	for _, procs := range []int{8, 2, 16, 3} {
		runtime.GOMAXPROCS(procs)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				for range 1000 {
					r.Record(2)
				}
			})
		}
		wg.Wait()
	}
	if got, want := r.Snapshot().Count(), uint64(1+4*32*1000); got != want {
		t.Errorf("%d records counted, want %d", got, want)
	}
}

func TestReset(t *testing.T) {
	r := NewRecorder()
	for i := range 5000 {
		r.Record(time.Duration(i))
	}
	r.Reset()
	if h := r.Snapshot(); h.Count() != 0 {
		t.Errorf("%d values after Reset", h.Count())
	}
	r.Record(7)
	if h := r.Snapshot(); h.Count() != 1 || h.Min() != 7 || h.Max() != 7 {
		t.Errorf("after Reset and one record: %d values from %d to %d", h.Count(), h.Min(), h.Max())
	}
}

// Records concurrent with Reset are kept or forgotten, never duplicated.
func TestResetBesideRecord(t *testing.T) {
	r := NewRecorder()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 20_000 {
				r.Record(3)
			}
		})
	}
	for range 20 {
		r.Reset()
		if h := r.Snapshot(); h.Count() > 4*20_000 || h.Count() > 0 && (h.Min() != 3 || h.Max() != 3) {
			t.Errorf("%d values from %d to %d", h.Count(), h.Min(), h.Max())
		}
	}
	writers.Wait()
}

// A zero Recorder panics like any nil pointer; it does not end the process.
func TestZeroRecorder(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a zero Recorder recorded")
		}
	}()
	new(Recorder).Record(1)
}
