// Package offheap allocates memory that the garbage collector does not see, counted by purpose.
//
// Memory comes from the operating system in whole zeroed pages. It is returned by
// unmapping, or by decommitting, which keeps the addresses readable. The collector does not
// scan it: it must not hold the only pointer to anything in the Go heap.
//
// Two kinds of builds differ. Under isobar_debug an unmapped range stays reserved
// and inaccessible for a while, so that a stale pointer into it faults rather
// than reading a newer mapping. Race builds take the memory from the Go heap
// instead, because the race detector does not watch addresses outside it.
package offheap

import (
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// HugePageBytes is the size of a huge page. Mappings that ask for huge pages
// are aligned to it.
const HugePageBytes = 2 << 20

// guarded reports whether unmapped ranges are made inaccessible and quarantined.
const guarded = invariant.Enabled && !invariant.Race

// quarantineBytes bounds the address space (not the memory) reserved for
// unmapped ranges.
const quarantineBytes = 256 << 20

var pageBytes = os.Getpagesize()

// An Account counts the bytes mapped for one purpose. Get one from For; it must
// not be copied. Any number of goroutines may use it.
type Account struct {
	purpose string
	bytes   atomic.Int64
	kept    ranges
}

var accounts struct {
	sync.Mutex
	byPurpose map[string]*Account // guarded by Mutex; entries are never removed
}

// For returns the account for purpose.
func For(purpose string) *Account {
	accounts.Lock()
	defer accounts.Unlock()
	a := accounts.byPurpose[purpose]
	if a == nil {
		a = &Account{purpose: purpose}
		if accounts.byPurpose == nil {
			accounts.byPurpose = make(map[string]*Account)
		}
		accounts.byPurpose[purpose] = a
	}
	return a
}

// Usage returns the bytes currently mapped, by purpose. It omits purposes with none, and
// addresses that Decommit keeps.
func Usage() map[string]int64 {
	accounts.Lock()
	defer accounts.Unlock()
	usage := make(map[string]int64, len(accounts.byPurpose))
	for purpose, a := range accounts.byPurpose {
		usage[purpose] = a.bytes.Load()
	}
	maps.DeleteFunc(usage, func(_ string, n int64) bool { return n == 0 })
	return usage
}

// RoundUp returns the size of a mapping that holds size bytes.
func RoundUp(size int, huge bool) int {
	unit := pageBytes
	if huge {
		unit = HugePageBytes
	}
	return (size + unit - 1) / unit * unit
}

// Map returns size bytes of zeroed, page-aligned memory; size must be positive
// and a multiple of RoundUp's unit. With huge, the range is aligned to huge
// pages and the operating system is asked to use them; ordinary pages are used
// if it cannot. The error of a platform without anonymous mappings wraps
// errors.ErrUnsupported.
func (a *Account) Map(size int, huge bool) ([]byte, error) {
	if size <= 0 || size != RoundUp(size, huge) {
		panic(fmt.Sprintf("offheap: Map: size %d is not a whole number of pages; round it with RoundUp", size))
	}
	var b []byte
	var err error
	switch {
	case invariant.Race:
		b = onHeap(size)
	default:
		b, err = mapPages(size, huge)
	}
	if err != nil {
		return nil, fmt.Errorf("offheap: map %d bytes for %s: %w", size, a.purpose, err)
	}
	a.bytes.Add(int64(size))
	if invariant.Enabled {
		live.add(b)
	}
	return b, nil
}

// Unmap returns the whole of a mapping made by Map to the system. No pointer into it may be
// used afterwards. It panics if b is not such a mapping and this can be detected: always
// under isobar_debug and in race builds, otherwise if the operating system refuses.
func (a *Account) Unmap(b []byte) {
	if invariant.Enabled {
		live.remove(b)
	}
	a.bytes.Add(-int64(len(b)))
	var err error
	switch {
	case invariant.Race: // the garbage collector frees it
	case guarded:
		err = quarantined.add(b)
	default:
		err = unmapPages(b)
	}
	if err != nil {
		panic(fmt.Sprintf("offheap: Unmap: %d bytes for %s: %v; pass what Map returned, once", len(b), a.purpose, err))
	}
}

// mappings is the set of currently mapped ranges, kept in checking builds only.
type mappings struct {
	mu   sync.Mutex
	size map[*byte]int // guarded by mu
}

var live mappings

func (m *mappings) add(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size == nil {
		m.size = make(map[*byte]int)
	}
	m.size[unsafe.SliceData(b)] = len(b)
}

func (m *mappings) remove(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := unsafe.SliceData(b)
	if size, ok := m.size[p]; !ok || size != len(b) {
		panic(fmt.Sprintf("offheap: Unmap: %d bytes at %p are not mapped; pass what Map returned, once", len(b), p))
	}
	delete(m.size, p)
}

// quarantine keeps unmapped ranges reserved, oldest first, in guarded builds.
type quarantine struct {
	mu     sync.Mutex
	ranges [][]byte // guarded by mu
	bytes  int      // guarded by mu
}

var quarantined quarantine

func (q *quarantine) add(b []byte) error {
	if err := guardPages(b); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ranges = append(q.ranges, b)
	q.bytes += len(b)
	for q.bytes > quarantineBytes {
		oldest := q.ranges[0]
		q.ranges = q.ranges[1:]
		q.bytes -= len(oldest)
		if err := unmapPages(oldest); err != nil {
			return err
		}
	}
	return nil
}
