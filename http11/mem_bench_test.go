package http11

import (
	"fmt"
	"testing"
)

// BenchmarkRequestMemory begins a request, allocates a typical request's memory
// and ends it: alone, and with enough concurrent ones that chunks come and go.
func BenchmarkRequestMemory(b *testing.B) {
	for _, config := range modes() {
		for _, held := range []int{1, 64} {
			b.Run(fmt.Sprintf("mode=%v/offheap=%v/held=%d", config.Mode, config.OffHeap, held), func(b *testing.B) {
				config.IdleBytes = defaultChunkBytes // one chunk: the others are freed
				m, err := newMemory(config)
				if err != nil {
					b.Fatal(err)
				}
				defer m.close()
				b.ReportAllocs()
				regions := make([]*region, held)
				for b.Loop() {
					for i := range regions {
						regions[i] = m.acquire()
						regions[i].alloc(len(typical))
						regions[i].alloc(1024)
					}
					for _, r := range regions {
						r.drop()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*held), "ns/request")
			})
		}
	}
}
