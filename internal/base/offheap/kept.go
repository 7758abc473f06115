package offheap

import (
	"fmt"
	"sync"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// ranges holds address ranges without memory, by size.
type ranges struct {
	mu     sync.Mutex
	bySize map[int][][]byte // guarded by mu
	bytes  int64            // total; guarded by mu
}

// Decommit returns the memory of b, which must be the whole result of Map or Recommit, to
// the system and keeps its addresses for Recommit. Unlike after Unmap, a stale reader does
// not fault: it finds zeros, old bytes, or those of the next owner, and must discard them.
//
// Linux takes the pages at once; macOS, FreeBSD and Windows take them when they need memory. What
// remains is address space and its page tables, 1/512 of its size: for each size, as much as the
// account's peak mapping of that size. Under isobar_debug Decommit is Unmap, so that a stale pointer
// is found. In race builds the garbage collector frees the memory once nothing refers to it.
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

// Recommit returns size bytes with unspecified contents at addresses kept by
// Decommit, or maps them like Map.
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

// KeptBytes returns the size of the address space that Decommit has kept and
// Recommit has not reused.
func (a *Account) KeptBytes() int64 {
	a.kept.mu.Lock()
	defer a.kept.mu.Unlock()
	return a.kept.bytes
}
