// Package lines measures what the other benchmarks of this module are made of
// on a machine: locked instructions, pinning to a P, and cache lines that move
// between two CPUs. docs/adr/0017 reckons with these figures.
//
//	go test -bench . ./lines
package lines

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A line is a counter that shares its cache line, and the one that is fetched
// with it, with nothing else.
type line struct {
	_     [64]byte
	count atomic.Uint64
	plain uint64 // accessed without atomics; its owner changes with count
	_     [48]byte
}

// BenchmarkLocked is an instruction with a lock prefix on a line that no other
// CPU touches.
func BenchmarkLocked(b *testing.B) {
	var l line
	b.Run("instruction=add", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			l.count.Add(1)
		}
	})
	b.Run("instruction=swap", func(b *testing.B) { // what an atomic store is on amd64
		for i := 0; i < b.N; i++ {
			l.count.Store(1)
		}
	})
	b.Run("instruction=cas", func(b *testing.B) {
		l.count.Store(0)
		for i := uint64(0); i < uint64(b.N); i++ {
			l.count.CompareAndSwap(i, i+1)
		}
	})
}

// BenchmarkPin pins the goroutine to its P and releases it, as each operation
// of a pool or recorder does.
func BenchmarkPin(b *testing.B) {
	sum := 0
	for i := 0; i < b.N; i++ {
		sum += procpin.Pin()
		procpin.Unpin()
	}
	runtime.KeepAlive(sum)
}

// BenchmarkYield gives up the CPU where nobody else wants it, as a consumer that
// finds nothing does.
func BenchmarkYield(b *testing.B) {
	for i := 0; i < b.N; i++ {
		runtime.Gosched()
	}
}

// BenchmarkPause is 30 PAUSE instructions, after which whoever spins for a mutex
// looks again.
func BenchmarkPause(b *testing.B) {
	if !hasPause {
		b.Skip("written for amd64 only")
	}
	for i := 0; i < b.N; i++ {
		pause()
	}
}

// pair runs f on two Ps, with 0 and 1, until both return.
func pair(b *testing.B, f func(side uint64)) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two Ps")
	}
	var wg sync.WaitGroup
	for side := range uint64(2) {
		wg.Go(func() { f(side) })
	}
	wg.Wait()
}

// BenchmarkMove is a line that goes to the other CPU as soon as that has asked
// for it: ns/op is from one write to the next of the other side, which first
// reads it over and over, or asks to write it over and over.
func BenchmarkMove(b *testing.B) {
	b.Run("wait=read", func(b *testing.B) {
		var l line
		pair(b, func(side uint64) {
			for range (b.N + 1) / 2 {
				for l.count.Load()%2 != side {
				}
				l.count.Add(1)
			}
		})
	})
	b.Run("wait=write", func(b *testing.B) {
		var l line
		pair(b, func(side uint64) {
			for range (b.N + 1) / 2 {
				for l.count.Add(0)%2 != side {
				}
				l.count.Add(1)
			}
		})
	})
}

// BenchmarkShared is a counter to which two CPUs add: ns/op is of all additions,
// with work multiplications after each.
func BenchmarkShared(b *testing.B) {
	for _, work := range []int{0, 10} {
		b.Run("work="+strconv.Itoa(work), func(b *testing.B) {
			var l line
			pair(b, func(side uint64) {
				hash := side
				for range (b.N + 1) / 2 {
					l.count.Add(1)
					for range work {
						hash = hash*0x5851f42d4c957f2d + 1
					}
				}
				runtime.KeepAlive(hash)
			})
		})
	}
}

// BenchmarkStream has two CPUs pass over the same lines in turn. One writes each with
// a locked instruction; the other reads it, and in left=cleared also writes it.
// Cleared lines are the other CPU's own, and the hardware fetches them ahead;
// lines that were only read are shared, and the writer waits until each is its own.
func BenchmarkStream(b *testing.B) {
	for _, cleared := range []bool{true, false} {
		name := "left=read"
		if cleared {
			name = "left=cleared"
		}
		b.Run(name, func(b *testing.B) {
			const n = 4096
			lines := make([]line, n)
			var turn line
			var spent [2]time.Duration // each owned by its side
			laps := uint64(b.N/n + 1)
			pair(b, func(side uint64) {
				var sum uint64
				for lap := range laps {
					for turn.count.Load() != 2*lap+side {
					}
					began := time.Now()
					if side == 0 {
						for i := range lines {
							lines[i].count.Store(1)
						}
					} else {
						for i := range lines {
							sum += lines[i].count.Load()
							if cleared {
								lines[i].plain = 0
							}
						}
					}
					spent[side] += time.Since(began)
					turn.count.Add(1)
				}
				runtime.KeepAlive(sum)
			})
			per := float64(laps * n)
			b.ReportMetric(float64(spent[0].Nanoseconds())/per, "ns/write")
			b.ReportMetric(float64(spent[1].Nanoseconds())/per, "ns/read")
		})
	}
}
