package recorder

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/isobar-go/isobar/latency"
)

// durations is what every benchmark records: log-normal around 50 µs, drawn
// beforehand; a power of two of them.
var durations = func() []time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	ds := make([]time.Duration, 1<<12)
	for i := range ds {
		ds[i] = time.Duration(50_000 * (1 + random.ExpFloat64()))
	}
	return ds
}()

func BenchmarkRecord(b *testing.B) {
	b.Run("impl=isobar", func(b *testing.B) {
		b.ReportAllocs()
		r := latency.NewRecorder()
		for i := 0; i < b.N; i++ {
			r.Record(durations[i&(len(durations)-1)])
		}
	})
	b.Run("impl=hdrhistogram-go", func(b *testing.B) {
		b.ReportAllocs()
		h := hdr.New(1, int64(time.Hour), 3)
		for i := 0; i < b.N; i++ {
			_ = h.RecordValue(int64(durations[i&(len(durations)-1)]))
		}
	})
}

// BenchmarkRecordParallel has every P record; the peer is for one goroutine and
// needs a mutex.
func BenchmarkRecordParallel(b *testing.B) {
	b.Run("impl=isobar", func(b *testing.B) {
		r := latency.NewRecorder()
		recordParallel(b, r.Record)
	})
	b.Run("impl=hdrhistogram-go-mutex", func(b *testing.B) {
		var mu sync.Mutex
		h := hdr.New(1, int64(time.Hour), 3)
		recordParallel(b, func(d time.Duration) {
			mu.Lock()
			_ = h.RecordValue(int64(d))
			mu.Unlock()
		})
	})
}

func recordParallel(b *testing.B, record func(time.Duration)) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			record(durations[i&(len(durations)-1)])
		}
	})
}
