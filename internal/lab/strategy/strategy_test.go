package strategy

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// fillAndSum writes the buffer and then reads it back, so that operations that
// share a buffer corrupt each other.
func fillAndSum(b []byte) uint64 {
	for i := range b {
		b[i] = byte(i)
	}
	sum := uint64(len(b))
	for _, c := range b {
		sum = sum*31 + uint64(c)
	}
	return sum
}

func TestAllStrategiesDoTheSame(t *testing.T) {
	const ops = 100
	for _, size := range []int{1, 24, 1024, 65536} {
		for _, workers := range []int{1, 2, 7} {
			want := fillAndSum(make([]byte, size)) * ops * uint64(workers)
			for _, name := range Names() {
				all, err := New(name, size, workers)
				if err != nil {
					t.Fatal(err)
				}
				sums := make([]uint64, workers) // sums[i] belongs to worker i until Wait
				var wg sync.WaitGroup
				for i := range workers {
					wg.Go(func() {
						for range ops {
							sums[i] += all[i](fillAndSum)
						}
					})
				}
				wg.Wait()
				var got uint64
				for _, sum := range sums {
					got += sum
				}
				if got != want {
					t.Errorf("%s, size %d, %d workers: checksum %#x, want %#x", name, size, workers, got, want)
				}
			}
		}
	}
}

// TestBuffersInUseDoNotOverlap: an operation has its buffer to itself while it works, however
// others interleave. Here all workers are in work at once.
func TestBuffersInUseDoNotOverlap(t *testing.T) {
	const workers = 6
	for _, name := range Names() {
		all, err := New(name, 64, workers)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 100 {
			var filled, finished sync.WaitGroup
			filled.Add(workers)
			for i := range workers {
				finished.Go(func() {
					all[i](func(b []byte) uint64 {
						if len(b) != 64 {
							t.Errorf("%s: a buffer of %d bytes, want 64", name, len(b))
						}
						for j := range b {
							b[j] = byte(i + 1)
						}
						filled.Done()
						filled.Wait()
						if slices.ContainsFunc(b, func(c byte) bool { return c != byte(i+1) }) {
							t.Errorf("%s: round %d: worker %d shares its buffer", name, round, i)
						}
						return 0
					})
				})
			}
			finished.Wait()
		}
	}
}

func TestAllocationsAreAsPromised(t *testing.T) {
	if invariant.Race {
		t.Skip("sync.Pool drops buffers at random in race builds")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a cycle would empty the pools
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // one P finds nothing of what a pool keeps for another
	const size, ops = 1024, 1000
	promised := map[string]struct{ allocs, bytes float64 }{
		"plain":          {1, size},
		"syncpool-slice": {1, 24},
	}
	for _, name := range Names() {
		all, err := New(name, size, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := all[0]
		w(fillAndSum)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range ops {
			w(fillAndSum)
		}
		runtime.ReadMemStats(&after)
		allocs := float64(after.Mallocs-before.Mallocs) / ops
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / ops
		want := promised[name]
		if allocs < want.allocs || allocs > want.allocs+0.05 || bytes < want.bytes || bytes > want.bytes+8 {
			t.Errorf("%s: %v allocations and %v bytes an operation, want %v and %v", name, allocs, bytes, want.allocs,
				want.bytes)
		}
	}
}

func TestArenaHandsOutDistinctBuffers(t *testing.T) {
	all, err := New("arena", 16, 2)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*byte]int{}
	for range 3 * arenaBuffers {
		for i := range 2 {
			all[i](func(b []byte) uint64 {
				seen[&b[0]]++
				if cap(b) != 16 {
					t.Fatalf("capacity %d reaches into the next buffer", cap(b))
				}
				return 0
			})
		}
	}
	if len(seen) != 2*arenaBuffers {
		t.Errorf("%d distinct buffers, want %d", len(seen), 2*arenaBuffers)
	}
}

func TestNewRefuses(t *testing.T) {
	want := `unknown strategy "fast" (there are: ` + strings.Join(Names(), ", ") + ")"
	if _, err := New("fast", 1, 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func BenchmarkFillAndSum(b *testing.B) {
	for _, name := range Names() {
		b.Run("strategy="+name, func(b *testing.B) {
			all, err := New(name, 1024, 1)
			if err != nil {
				b.Fatal(err)
			}
			w := all[0]
			b.ReportAllocs()
			for b.Loop() {
				w(fillAndSum)
			}
		})
	}
}
