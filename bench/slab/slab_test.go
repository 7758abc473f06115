// Package slab compares slabs with pointers, with a slot map over one slice
// (the usual design: values, generations and a free list, grown by append),
// with a Go map, and with the entities of ark, which checks generations too.
//
// One operation of a benchmark is a whole round; ns/object and cpu-ns/object
// are the share of each object in it.
package slab

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/isobar-go/isobar/bench/internal/cputime"
	"github.com/isobar-go/isobar/slab"
	"github.com/mlange-42/ark/ecs"
)

// An object has 64 bytes.
type object struct {
	key uint64
	_   [7]uint64
}

// A slotMap is the peer over one slice.
type slotMap[T any] struct {
	slots []mapSlot[T]
	free  uint32 // index+1
}

type mapSlot[T any] struct {
	value T
	gen   uint32 // odd while live
	next  uint32
}

func (m *slotMap[T]) insert(v T) uint64 {
	i := m.free
	if i == 0 {
		m.slots = append(m.slots, mapSlot[T]{})
		i = uint32(len(m.slots))
	} else {
		m.free = m.slots[i-1].next
	}
	s := &m.slots[i-1]
	s.gen++
	s.value = v
	return uint64(s.gen)<<32 | uint64(i-1)
}

func (m *slotMap[T]) get(h uint64) (*T, bool) {
	if i := uint32(h); int(i) < len(m.slots) {
		if s := &m.slots[i]; s.gen == uint32(h>>32) {
			return &s.value, true
		}
	}
	return nil, false
}

func (m *slotMap[T]) remove(h uint64) bool {
	if i := uint32(h); int(i) < len(m.slots) {
		if s := &m.slots[i]; s.gen == uint32(h>>32) {
			s.gen++
			s.next, m.free = m.free, i+1
			return true
		}
	}
	return false
}

func rounds(b *testing.B, n int, round func()) { cputime.Rounds(b, n, "object", round) }

func newSlab[T any](b *testing.B) *slab.Slab[T] {
	s, err := slab.New[T](slab.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Release)
	return s
}

var sinkSum uint64

// BenchmarkInsertRemove inserts and removes one object after the other, among
// 1,000 that stay.
func BenchmarkInsertRemove(b *testing.B) {
	const n = 1000
	b.Run("impl=isobar", func(b *testing.B) {
		s := newSlab[object](b)
		for i := range uint64(n) {
			s.Insert(object{key: i})
		}
		rounds(b, n, func() {
			for i := range uint64(n) {
				s.Remove(s.Insert(object{key: i}))
			}
		})
	})
	b.Run("impl=slotmap", func(b *testing.B) {
		var s slotMap[object]
		for i := range uint64(n) {
			s.insert(object{key: i})
		}
		rounds(b, n, func() {
			for i := range uint64(n) {
				s.remove(s.insert(object{key: i}))
			}
		})
	})
	b.Run("impl=ark", func(b *testing.B) {
		w := ecs.NewWorld()
		m := ecs.NewMap[object](&w)
		for i := range uint64(n) {
			m.NewEntity(&object{key: i})
		}
		rounds(b, n, func() {
			for i := range uint64(n) {
				w.RemoveEntity(m.NewEntity(&object{key: i}))
			}
		})
	})
	b.Run("impl=map", func(b *testing.B) {
		m := map[uint64]object{}
		for i := range uint64(n) {
			m[i] = object{key: i}
		}
		rounds(b, n, func() {
			for i := range uint64(n) {
				m[n+i] = object{key: i}
				delete(m, n+i)
			}
		})
	})
}

// BenchmarkGet looks up 1,000 objects that fit into the cache, in random order.
func BenchmarkGet(b *testing.B) {
	const n = 1000
	order := rand.New(rand.NewPCG(1, 1)).Perm(n)
	b.Run("impl=isobar", func(b *testing.B) {
		s := newSlab[object](b)
		handles := make([]slab.Handle[object], n)
		for i, at := range order {
			handles[at] = s.Insert(object{key: uint64(i)})
		}
		rounds(b, n, func() {
			var sum uint64
			for _, h := range handles {
				if v, ok := s.Get(h); ok {
					sum += v.key
				}
			}
			sinkSum = sum
		})
	})
	b.Run("impl=slotmap", func(b *testing.B) {
		var s slotMap[object]
		handles := make([]uint64, n)
		for i, at := range order {
			handles[at] = s.insert(object{key: uint64(i)})
		}
		rounds(b, n, func() {
			var sum uint64
			for _, h := range handles {
				if v, ok := s.get(h); ok {
					sum += v.key
				}
			}
			sinkSum = sum
		})
	})
	b.Run("impl=ark", func(b *testing.B) {
		w := ecs.NewWorld()
		m := ecs.NewMap[object](&w)
		handles := make([]ecs.Entity, n)
		for i, at := range order {
			handles[at] = m.NewEntity(&object{key: uint64(i)})
		}
		rounds(b, n, func() {
			var sum uint64
			for _, h := range handles {
				if w.Alive(h) {
					sum += m.GetUnchecked(h).key
				}
			}
			sinkSum = sum
		})
	})
	b.Run("impl=map", func(b *testing.B) {
		m := map[uint64]*object{}
		handles := make([]uint64, n)
		for i, at := range order {
			handles[at] = uint64(i)
			m[uint64(i)] = &object{key: uint64(i)}
		}
		rounds(b, n, func() {
			var sum uint64
			for _, h := range handles {
				if v, ok := m[h]; ok {
					sum += v.key
				}
			}
			sinkSum = sum
		})
	})
	b.Run("impl=isobar-concurrent", func(b *testing.B) {
		s, err := slab.NewConcurrent[object](slab.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(s.Release)
		handles := make([]slab.Handle[object], n)
		for i, at := range order {
			handles[at] = s.Insert(object{key: uint64(i)})
		}
		rounds(b, n, func() {
			var sum uint64
			for _, h := range handles {
				if v, ok := s.Get(h); ok {
					sum += v.key
				}
			}
			sinkSum = sum
		})
	})
}

type node struct {
	left, right slab.Handle[node]
	key         uint64
}

type pointerNode struct {
	left, right *pointerNode
	key         uint64
}

// grow builds a balanced tree of n nodes. It takes a node's place before those
// of its children, as an allocator would.
func grow(s *slab.Slab[node], n int) slab.Handle[node] {
	if n == 0 {
		return 0
	}
	h := s.Insert(node{key: uint64(n)})
	left := grow(s, (n-1)/2)
	right := grow(s, n-1-(n-1)/2)
	p, _ := s.Get(h)
	p.left, p.right = left, right
	return h
}

func walk(s *slab.Slab[node], h slab.Handle[node]) uint64 {
	n, ok := s.Get(h)
	if !ok {
		return 0
	}
	return n.key + walk(s, n.left) + walk(s, n.right)
}

func growPointers(n int) *pointerNode {
	if n == 0 {
		return nil
	}
	p := &pointerNode{key: uint64(n)}
	p.left = growPointers((n - 1) / 2)
	p.right = growPointers(n - 1 - (n-1)/2)
	return p
}

func walkPointers(p *pointerNode) uint64 {
	if p == nil {
		return 0
	}
	return p.key + walkPointers(p.left) + walkPointers(p.right)
}

// BenchmarkTree builds a tree of 10^6 nodes, walks it and drops it. In
// "isobar-again" the slab holds the second tree after Clear: it must not cost
// more than the first.
func BenchmarkTree(b *testing.B) {
	const n = 1_000_000
	b.Run("impl=isobar", func(b *testing.B) {
		rounds(b, n, func() {
			s, err := slab.New[node](slab.Config{})
			if err != nil {
				b.Fatal(err)
			}
			sinkSum = walk(s, grow(s, n))
			s.Release()
		})
	})
	b.Run("impl=isobar-again", func(b *testing.B) {
		s := newSlab[node](b)
		grow(s, n)
		rounds(b, n, func() {
			s.Clear()
			sinkSum = walk(s, grow(s, n))
		})
	})
	b.Run("impl=new", func(b *testing.B) {
		rounds(b, n, func() { sinkSum = walkPointers(growPointers(n)) })
	})
}

// BenchmarkCollect is the CPU time of a collection while 10^7 linked nodes
// live; impl=empty is that of a process that holds nothing.
func BenchmarkCollect(b *testing.B) {
	const n = 10_000_000
	collect := func(b *testing.B) {
		runtime.GC()
		began := cputime.Process()
		for b.Loop() {
			runtime.GC()
		}
		b.ReportMetric(float64((cputime.Process()-began)/time.Microsecond)/float64(b.N), "cpu-µs/op")
	}
	b.Run("impl=empty", collect)
	b.Run("impl=isobar", func(b *testing.B) {
		s := newSlab[node](b)
		root := grow(s, n)
		collect(b)
		sinkSum = walk(s, root)
	})
	b.Run("impl=pointers", func(b *testing.B) {
		root := growPointers(n)
		collect(b)
		sinkSum = walkPointers(root)
	})
}
