// Package pool_test compares Isobar's pools with their peers. Both sides of
// a comparison take burst objects or buffers, touch each, reset it as the other
// side does, and give it back; an operation is one such round.
package pool_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/util/zeropool"
	"github.com/puzpuzpuz/xsync/v4"

	"github.com/isobar-go/isobar/pool"
)

const maxBurst = 64

// An object is what the object pools hold: a cache line with a pointer.
type object struct {
	a, b, c, d, e, f, g uint64
	next                *object
}

func reset(x *object) { *x = object{} }

func newObject() *object { return new(object) }

// rounds runs bench at each burst, under the given implementation.
func rounds(b *testing.B, impl string, bench func(b *testing.B, burst int)) {
	for _, burst := range []int{1, maxBurst} {
		b.Run("burst="+strconv.Itoa(burst)+"/impl="+impl, func(b *testing.B) {
			b.ReportAllocs()
			bench(b, burst)
		})
	}
}

func isobar(cfg pool.Config[object]) func(b *testing.B, burst int) {
	return func(b *testing.B, burst int) {
		p := pool.New(cfg)
		b.RunParallel(func(pb *testing.PB) {
			var held [maxBurst]*object
			for pb.Next() {
				for i := range held[:burst] {
					x := p.Get()
					x.a++
					held[i] = x
				}
				for _, x := range held[:burst] {
					p.Put(x)
				}
			}
			runtime.KeepAlive(&held)
		})
		if cfg.Kind != pool.Cached {
			b.ReportMetric(float64(p.Stats().Shares), "shares")
		}
	}
}

func syncPool(b *testing.B, burst int) {
	p := &sync.Pool{New: func() any { return newObject() }}
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*object
		for pb.Next() {
			for i := range held[:burst] {
				x := p.Get().(*object)
				x.a++
				held[i] = x
			}
			for _, x := range held[:burst] {
				reset(x)
				p.Put(x)
			}
		}
		runtime.KeepAlive(&held)
	})
}

func zeroPool(b *testing.B, burst int) {
	p := zeropool.New(newObject)
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*object
		for pb.Next() {
			for i := range held[:burst] {
				x := p.Get()
				x.a++
				held[i] = x
			}
			for _, x := range held[:burst] {
				reset(x)
				p.Put(x)
			}
		}
		runtime.KeepAlive(&held)
	})
}

// channelPool is a channel with as many objects as can be in use, as the
// Bounded pool has.
func channelPool(b *testing.B, burst int) {
	p := make(chan *object, limit(burst))
	for range cap(p) {
		p <- newObject()
	}
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*object
		for pb.Next() {
			for i := range held[:burst] {
				x := <-p
				x.a++
				held[i] = x
			}
			for _, x := range held[:burst] {
				reset(x)
				p <- x
			}
		}
		runtime.KeepAlive(&held)
	})
}

// xsyncPool is a freelist over a queue of xsync, with as many objects as the
// channel has and room for twice as many: a take that is not over fills its slot.
// It waits for nobody: what is missing is made, what does not fit is dropped.
func xsyncPool(b *testing.B, burst int) {
	p := xsync.NewMPMCQueue[*object](2 * limit(burst))
	for range limit(burst) {
		p.TryEnqueue(newObject())
	}
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*object
		for pb.Next() {
			for i := range held[:burst] {
				x, ok := p.TryDequeue()
				if !ok {
					x = newObject()
				}
				x.a++
				held[i] = x
			}
			for _, x := range held[:burst] {
				reset(x)
				p.TryEnqueue(x)
			}
		}
		runtime.KeepAlive(&held)
	})
}

func limit(burst int) int { return burst * runtime.GOMAXPROCS(0) }

func BenchmarkCached(b *testing.B) {
	rounds(b, "isobar", isobar(pool.Config[object]{Reset: reset}))
	rounds(b, "syncpool", syncPool)
	rounds(b, "zeropool", zeroPool)
	rounds(b, "channel", channelPool)
	rounds(b, "xsync", xsyncPool)
}

func BenchmarkRetaining(b *testing.B) {
	rounds(b, "isobar", isobar(pool.Config[object]{Kind: pool.Retaining, Reset: reset}))
	rounds(b, "syncpool", syncPool)
	rounds(b, "zeropool", zeroPool)
	rounds(b, "channel", channelPool)
	rounds(b, "xsync", xsyncPool)
}

func BenchmarkBounded(b *testing.B) {
	rounds(b, "isobar", func(b *testing.B, burst int) {
		isobar(pool.Config[object]{Kind: pool.Bounded, Reset: reset, Limit: limit(burst)})(b, burst)
	})
	rounds(b, "syncpool", syncPool)
	rounds(b, "zeropool", zeroPool)
	rounds(b, "channel", channelPool)
	rounds(b, "xsync", xsyncPool)
}
