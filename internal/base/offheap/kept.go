package offheap

import (
	"fmt"
	"sync"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// ranges are addresses without memory, by size.
type ranges struct {
	mu     sync.Mutex
	bySize map[int][][]byte // guarded by mu
	bytes  int64            // of all; guarded by mu
}

// Decommit gives the memory of b back, the whole of what Map or Recommit
// returned, and keeps its addresses for Recommit. Unlike after Unmap, whoever
// still reads there does not fault: it finds zeros, old bytes, or those of the
// next owner, and has to throw them away.
//
// Linux takes the pages at once, macOS, FreeBSD and Windows when they need
// memory. What stays is address space and its page tables, 1/512 of it: for
// each size, as much as the account had mapped of that size at its peak. Under
// isobar_debug Decommit is Unmap, so that a stale pointer is found; in race
// builds the garbage collector takes the memory when nobody refers to it.
func (a *Account) Decommit(b []byte) {
	if invariant.Race || guarded {
		a.Unmap(b)
		return
	}
	if err := decommitPages(b); err != nil {
		panic(fmt.Sprintf("offheap: Decommit: %d bytes for %s: %v; pass what Map returned, once", len(b), a.purpose, err))
	}
	a.bytes.Add(-int64(len(b)))
	k := &a.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bySize == nil {
		k.bySize = make(map[int][][]byte)
	}
	k.bySize[len(b)] = append(k.bySize[len(b)], b)
	k.bytes += int64(len(b))
}

// Recommit returns size bytes of unspecified contents at addresses that
// Decommit has kept, or maps them as Map does.
func (a *Account) Recommit(size int) ([]byte, error) {
	if b := a.kept.take(size); b != nil {
		a.bytes.Add(int64(size))
		return b, nil
	}
	return a.Map(size, false)
}

func (k *ranges) take(size int) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.bySize[size]
	last := len(list) - 1
	if last < 0 {
		return nil
	}
	b := list[last]
	list[last] = nil
	k.bySize[size] = list[:last]
	k.bytes -= int64(size)
	return b
}

// KeptBytes is the address space that Decommit has kept and Recommit has not
// used again.
func (a *Account) KeptBytes() int64 {
	a.kept.mu.Lock()
	defer a.kept.mu.Unlock()
	return a.kept.bytes
}
