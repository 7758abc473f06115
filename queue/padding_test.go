package queue

import (
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/cpu"
)

// A layout holds the fields that the sides of a queue write, with P between
// them.
type layout[P any] struct {
	slots [1024]atomic.Uint64
	_     P
	tail  atomic.Uint64 // a producer's
	seen  uint64        // the producer's copy of head
	_     P
	head  atomic.Uint64 // the consumer's
	_     P
}

// spsc moves n values as an SPSCRing does.
func (l *layout[P]) spsc(n uint64) {
	go func() {
		for tail := uint64(0); tail < n; tail++ {
			for tail-l.seen == uint64(len(l.slots)) {
				if l.seen = l.head.Load(); tail-l.seen == uint64(len(l.slots)) {
					runtime.Gosched()
				}
			}
			l.slots[tail%uint64(len(l.slots))].Store(tail)
			l.tail.Store(tail + 1)
		}
	}()
	for head, seen := uint64(0), uint64(0); head < n; head++ {
		for head == seen {
			if seen = l.tail.Load(); head == seen {
				runtime.Gosched()
			}
		}
		l.slots[head%uint64(len(l.slots))].Store(0)
		l.head.Store(head + 1)
	}
}

// sides lets each side write its own index n times, which isolates the effect
// of padding.
func (l *layout[P]) sides(n uint64) {
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		close(ready)
		for range n {
			l.tail.Add(1)
		}
		close(done)
	}()
	<-ready
	for range n {
		l.head.Add(1)
	}
	<-done
}

// BenchmarkPadding measures the padding between the producers' and the
// consumer's fields: the same work without padding, with one cache line, and
// with two, for prefetchers that fetch pairs of lines. An operation is one
// value, or one write by each side.
func BenchmarkPadding(b *testing.B) {
	b.Run("work=spsc/pad=none", func(b *testing.B) { new(layout[struct{}]).spsc(uint64(b.N)) })
	b.Run("work=spsc/pad=line", func(b *testing.B) { new(layout[cpu.CacheLinePad]).spsc(uint64(b.N)) })
	b.Run("work=spsc/pad=pair", func(b *testing.B) { new(layout[[2]cpu.CacheLinePad]).spsc(uint64(b.N)) })
	b.Run("work=sides/pad=none", func(b *testing.B) { new(layout[struct{}]).sides(uint64(b.N)) })
	b.Run("work=sides/pad=line", func(b *testing.B) { new(layout[cpu.CacheLinePad]).sides(uint64(b.N)) })
	b.Run("work=sides/pad=pair", func(b *testing.B) { new(layout[[2]cpu.CacheLinePad]).sides(uint64(b.N)) })
}
