package memtest

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// attempts is how often a live-heap figure is measured before it fails the
// test.
const attempts = 4

// Growth fails the test if the live heap grows by more than limit bytes per call of f, over
// the given number of calls. It takes 100 calls or more to distinguish a leak from the
// runtime's noise, a few hundred bytes. The number of calls doubles with each attempt,
// which exposes a structure that grows by doubling and clears a cache that fills up once.
func Growth(t testing.TB, limit float64, calls int, f func()) {
	t.Helper()
	if calls < 1 {
		t.Errorf("memtest: Growth: %d calls; want 1 or more", calls)
		return
	}
	for range calls {
		f()
	}
	least, before := 0.0, readHeap().live
	for i := range attempts {
		for range calls {
			f()
		}
		after := readHeap().live
		grown := float64(after-before) / float64(calls)
		if i == 0 || grown < least {
			least = grown
		}
		if least <= limit {
			return
		}
		before, calls = after, 2*calls
	}
	t.Errorf("memtest: Growth: the live heap grows by %.4g bytes a call, limit %.4g; compare two heap profiles with go "+
		"tool pprof -base, or drop what keeps the objects", least, limit)
}

// leastBytes is the least a structure must occupy to stand out from the
// runtime's own allocations.
const leastBytes = 64 << 10

// Scan fails the test if the collector must scan more than the fraction limit
// of the bytes that the result of build keeps alive: 0 for memory without
// pointers, 1 if each object ends in one, because an object is scanned up to
// its last pointer. On CPUs with AVX-512, Go 1.26 scans objects of up to 512
// bytes that have pointers in full (scanSpan in runtime/mgcmark_greenteagc.go),
// so a limit for any machine counts these as a whole. build must make at least
// 64 KB.
func Scan(t testing.TB, limit float64, build func() any) {
	t.Helper()
	share, ok := scanShare(build, limit)
	switch {
	case !ok:
		t.Errorf("memtest: Scan: the structure keeps less than %d bytes alive; build a larger one, which stands out from "+
			"the runtime's own memory", leastBytes)
	case share > limit:
		t.Errorf("memtest: Scan: the collector scans %.3f of the structure's bytes, limit %.3f; keep pointers out of the "+
			"bulk of it (indexes, fixed arrays, offsets), or put them first in objects above 512 bytes", share, limit)
	}
}

// scanShare returns the least share of several attempts. ok is false if the
// structure was too small in all of them.
func scanShare(build func() any, limit float64) (share float64, ok bool) {
	build() // keep its one-time setup out of the count
	for range attempts {
		before := readHeap()
		kept := build()
		after := readHeap()
		runtime.KeepAlive(kept)
		live := after.live - before.live
		if live < leastBytes {
			continue // too small, or others freed more
		}
		s := max(0, float64(after.scan-before.scan)) / float64(live)
		if !ok || s < share {
			share, ok = s, true
		}
		if share <= limit {
			break
		}
	}
	return share, ok
}

// ScanShare returns the fraction, 0 to 1, of the bytes kept alive by the result
// of build that the collector scans. It is 0 if they are less than 64 KB.
func ScanShare(build func() any) float64 {
	share, _ := scanShare(build, -1)
	return share
}

type heap struct{ live, scan int64 }

// readHeap runs the collector and reads the live heap. Two collections empty
// every sync.Pool; finalizers and cleanups of the first may free more in the
// second.
func readHeap() heap {
	runtime.GC()
	time.Sleep(time.Millisecond) // for finalizers and cleanups, which run in their own goroutines
	runtime.GC()
	scan := []metrics.Sample{{Name: "/gc/scan/heap:bytes"}}
	metrics.Read(scan)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap{live: int64(m.HeapAlloc), scan: int64(scan[0].Value.Uint64())}
}
