// Package arena compares arenas with new(T), with nuke and, where the binary
// is built with GOEXPERIMENT=arenas, with the standard library's arena.
//
// One operation of a benchmark is a whole round: allocate, use, free; ns/alloc
// and cpu-ns/alloc are that per allocation. A nuke arena must not hold pointers; where a peer's
// values have pointer fields they are linked all the same, as the work is to be
// the same and nothing reads them after a collection.
package arena

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/arena"
	"github.com/isobar-go/isobar/bench/internal/cputime"
	"github.com/ortuman/nuke"
)

// A node has 64 bytes and pointers.
type node struct {
	left, right *node
	key         uint64
	_           [5]uint64
}

// A tick has 64 bytes and no pointers.
type tick struct {
	price, volume float64
	_             [6]uint64
}

var (
	sinkNode  *node
	sinkTick  *tick
	sinkBytes []byte
)

// rounds runs one round of n allocations per operation.
func rounds(b *testing.B, n int, round func()) { cputime.Rounds(b, n, "alloc", round) }

func openTyped[T any](b *testing.B) *arena.Typed[T] {
	a, err := arena.OpenTyped[T](arena.TypedConfig{})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func open(b *testing.B, config arena.Config) *arena.Arena {
	a, err := arena.Open(config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Release)
	return a
}

// BenchmarkTyped allocates 64-byte values that hold pointers and frees them.
func BenchmarkTyped(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		name := func(impl string) string { return fmt.Sprintf("n=%d/impl=%s", n, impl) }
		b.Run(name("isobar"), func(b *testing.B) {
			a := openTyped[node](b)
			rounds(b, n, func() {
				var last *node
				for i := range n {
					p := a.New()
					p.left, p.key = last, uint64(i)
					last = p
				}
				sinkNode = last
				a.Reset()
			})
		})
		b.Run(name("new"), func(b *testing.B) {
			rounds(b, n, func() {
				var last *node
				for i := range n {
					p := new(node)
					p.left, p.key = last, uint64(i)
					last = p
				}
				sinkNode = last
			})
		})
		b.Run(name("nuke"), func(b *testing.B) {
			// Its best case: one buffer of just the size that is needed.
			a := nuke.NewMonotonicArena(n*64, 1)
			rounds(b, n, func() {
				var last *node
				for i := range n {
					p := nuke.New[node](a)
					p.left, p.key = last, uint64(i)
					last = p
				}
				sinkNode = last
				a.Reset(false)
			})
		})
		benchStdTyped(b, name("std"), n)
	}
}

// BenchmarkValues allocates 64-byte values without pointers and frees them.
func BenchmarkValues(b *testing.B) {
	const n = 1000
	use := func(i int, p *tick) {
		p.price = float64(i)
		sinkTick = p
	}
	for impl, config := range map[string]arena.Config{"isobar": {}, "isobar-heap": {OnHeap: true}} {
		b.Run("impl="+impl, func(b *testing.B) {
			a := open(b, config)
			rounds(b, n, func() {
				for i := range n {
					use(i, arena.New[tick](a))
				}
				a.Reset()
			})
		})
	}
	b.Run("impl=new", func(b *testing.B) {
		rounds(b, n, func() {
			for i := range n {
				use(i, new(tick))
			}
		})
	})
	b.Run("impl=nuke", func(b *testing.B) {
		a := nuke.NewMonotonicArena(n*64, 1)
		rounds(b, n, func() {
			for i := range n {
				use(i, nuke.New[tick](a))
			}
			a.Reset(false)
		})
	})
}

// BenchmarkBytes allocates zeroed byte slices and frees them.
func BenchmarkBytes(b *testing.B) {
	const n = 1000
	for _, size := range []int{16, 64, 1024} {
		name := func(impl string) string { return fmt.Sprintf("size=%d/impl=%s", size, impl) }
		b.Run(name("isobar"), func(b *testing.B) {
			a := open(b, arena.Config{})
			rounds(b, n, func() {
				for range n {
					sinkBytes = a.Bytes(size)
				}
				a.Reset()
			})
		})
		b.Run(name("make"), func(b *testing.B) {
			rounds(b, n, func() {
				for range n {
					sinkBytes = make([]byte, size)
				}
			})
		})
		b.Run(name("nuke"), func(b *testing.B) {
			a := nuke.NewMonotonicArena(n*size, 1)
			rounds(b, n, func() {
				for range n {
					sinkBytes = nuke.MakeSlice[byte](a, size, size)
				}
				a.Reset(false)
			})
		})
	}
}

// BenchmarkFootprint fills an arena of the given size and frees it, again and
// again: the cost of an allocation must not grow with the number of chunks.
// 8192 MiB are measured when ISOBAR_SOAK is set.
func BenchmarkFootprint(b *testing.B) {
	sizes := []int{1, 64, 1024}
	if os.Getenv("ISOBAR_SOAK") != "" {
		sizes = append(sizes, 8192)
	}
	for _, mib := range sizes {
		n := mib << 20 / 64
		name := func(impl string) string { return fmt.Sprintf("MiB=%d/impl=%s", mib, impl) }
		b.Run(name("isobar"), func(b *testing.B) {
			a := open(b, arena.Config{HugePages: true})
			fill := func() {
				for i := range n {
					arena.New[tick](a).price = float64(i)
				}
				a.Reset()
			}
			fill() // the pages are mapped and touched once
			rounds(b, n, fill)
		})
		if mib > 64 {
			continue // nuke goes over all buffers at each allocation
		}
		b.Run(name("nuke"), func(b *testing.B) {
			a := nuke.NewMonotonicArena(1<<20, mib)
			fill := func() {
				for i := range n {
					nuke.New[tick](a).price = float64(i)
				}
				a.Reset(false)
			}
			fill()
			rounds(b, n, fill)
		})
	}
}

func grow(depth int, alloc func() *node) *node {
	p := alloc()
	p.key = uint64(depth)
	if depth > 0 {
		p.left, p.right = grow(depth-1, alloc), grow(depth-1, alloc)
	}
	return p
}

func walk(p *node) uint64 {
	if p == nil {
		return 0
	}
	return p.key + walk(p.left) + walk(p.right)
}

// BenchmarkTree builds a tree of 2^20-1 nodes, walks it and drops it. The
// collections that this causes are part of it. impl=isobar reuses one arena,
// whose memory was touched before; impl=isobar-fresh opens one for each tree.
func BenchmarkTree(b *testing.B) {
	const depth, n = 19, 1<<20 - 1
	b.Run("impl=isobar", func(b *testing.B) {
		a := openTyped[node](b)
		tree := func() {
			walk(grow(depth, a.New))
			a.Reset()
		}
		tree()
		rounds(b, n, tree)
	})
	b.Run("impl=isobar-fresh", func(b *testing.B) {
		rounds(b, n, func() {
			a := openTyped[node](b)
			walk(grow(depth, a.New))
			a.Release()
		})
	})
	b.Run("impl=new", func(b *testing.B) {
		rounds(b, n, func() { walk(grow(depth, func() *node { return new(node) })) })
	})
	benchStdTree(b, "impl=std", depth, n)
}

// newTick is not inlined, so that its value escapes.
//
//go:noinline
func newTick() *tick { return new(tick) }

// BenchmarkConcurrent has each processor allocate 10,000 values at once.
func BenchmarkConcurrent(b *testing.B) {
	const each = 10_000
	atOnce := func(b *testing.B, alloc func(i int), free func()) {
		g := runtime.GOMAXPROCS(0)
		rounds(b, g*each, func() {
			var wg sync.WaitGroup
			for range g {
				wg.Go(func() {
					for i := range each {
						alloc(i)
					}
				})
			}
			wg.Wait()
			free()
		})
	}
	b.Run("impl=isobar", func(b *testing.B) {
		c, err := arena.OpenConcurrent(arena.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Release)
		atOnce(b, func(i int) { arena.New[tick](c).price = float64(i) }, c.Reset)
	})
	b.Run("impl=mutex", func(b *testing.B) {
		var mu sync.Mutex
		a := open(b, arena.Config{})
		atOnce(b, func(i int) {
			mu.Lock()
			p := arena.New[tick](a)
			mu.Unlock()
			p.price = float64(i)
		}, a.Reset)
	})
	b.Run("impl=nuke", func(b *testing.B) {
		a := nuke.NewConcurrentArena(nuke.NewMonotonicArena(64*each*runtime.GOMAXPROCS(0), 1))
		atOnce(b, func(i int) { nuke.New[tick](a).price = float64(i) }, func() { a.Reset(false) })
	})
	b.Run("impl=new", func(b *testing.B) {
		atOnce(b, func(i int) { newTick().price = float64(i) }, func() {})
	})
}
