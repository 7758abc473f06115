package http11

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/offheap"
)

// This file's code runs only in checking builds (invariant.Enabled).

// poison fills memory whose request has ended.
const poison = 0xdb

// quarantineBlocks is how many blocks are kept back.
const quarantineBlocks = 64

// A quarantine is a source that poisons returned blocks, holds them for a
// while, and checks whether they were written to meanwhile. Off-heap memory is
// mapped block by block instead: once unmapped, any access faults, as long as
// package offheap keeps the addresses reserved.
type quarantine struct {
	source
	account *offheap.Account // nil: no block has its own mapping
	alone   chunk            // home of blocks with their own mapping

	mu     sync.Mutex
	blocks []block // oldest first; guarded by mu
	mapped int64   // mapped blocks in use; guarded by mu
	bytes  int64   // their memory; guarded by mu
	misses uint64  // blocks given their own mapping so far; guarded by mu
}

func newQuarantine(s source, c Memory) *quarantine {
	q := &quarantine{source: s}
	if c.OffHeap && !invariant.Race {
		q.account = offheap.For("http11")
	}
	return q
}

func (q *quarantine) get(n int) block {
	if q.account != nil {
		if mem, err := q.account.Map(offheap.RoundUp(n, false), false); err == nil {
			q.mu.Lock()
			q.mapped++
			q.misses++
			q.bytes += int64(len(mem))
			q.mu.Unlock()
			return block{mem: mem, home: &q.alone}
		}
	}
	b := q.source.get(n)
	fillPoison(b.mem)
	return b
}

func (q *quarantine) put(b block) {
	if b.home == &q.alone {
		q.mu.Lock()
		q.mapped--
		q.bytes -= int64(len(b.mem))
		q.mu.Unlock()
		q.account.Unmap(b.mem)
		return
	}
	fillPoison(b.mem)
	q.mu.Lock()
	q.blocks = append(q.blocks, b)
	var oldest block
	if len(q.blocks) > quarantineBlocks {
		oldest, q.blocks = q.blocks[0], q.blocks[1:]
	}
	q.mu.Unlock()
	if oldest.mem != nil {
		q.leave(oldest)
	}
}

// leave returns b to the source.
func (q *quarantine) leave(b block) {
	for i, c := range b.mem {
		if c != poison {
			panic(fmt.Sprintf("http11: request memory was written to after its request had ended, at byte %d of a block: %q; "+
				"drop what UnsafeAlloc and UnsafeBytes return before the handler returns, or Retain the request",
				i, b.mem[i:min(len(b.mem), i+16)]))
		}
	}
	q.source.put(b)
}

func (q *quarantine) close() {
	q.mu.Lock()
	blocks := q.blocks
	q.blocks = nil
	q.mu.Unlock()
	for _, b := range blocks {
		q.leave(b)
	}
	q.source.close()
}

// addTo excludes quarantined blocks from those in use.
func (q *quarantine) addTo(s *MemoryStats) {
	q.source.addTo(s)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.blocks {
		s.InUse--
		s.InUseBytes -= int64(len(b.mem))
	}
	s.InUse += q.mapped
	s.Misses += q.misses
	s.InUseBytes += q.bytes
	s.HeldBytes += q.bytes
}

func fillPoison(b []byte) {
	for i := range b {
		b[i] = poison
	}
}

// placeTable records where regions were acquired and where their last request
// ended.
type placeTable struct {
	mu sync.Mutex
	of map[*region]*[2][4]uintptr // guarded by mu
}

var places placeTable

func (t *placeTable) began(r *region) { t.note(r, 0) }
func (t *placeTable) ended(r *region) { t.note(r, 1) }

func (t *placeTable) note(r *region, i int) {
	var place [4]uintptr
	runtime.Callers(4, place[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[*region]*[2][4]uintptr)
	}
	p := t.of[r]
	if p == nil {
		p = new([2][4]uintptr)
		t.of[r] = p
	}
	p[i] = place
}

// describe says where r was acquired and where its last request ended. It reads
// symbols without the lock, which each request takes twice.
func (t *placeTable) describe(r *region) string {
	t.mu.Lock()
	p := t.of[r]
	if p == nil {
		t.mu.Unlock()
		return ""
	}
	at := *p
	t.mu.Unlock()
	return "\nacquired by\n" + callers(at[0][:]) + "ended by\n" + callers(at[1][:])
}

func callers(pcs []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "\t%s (%s:%d)\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
