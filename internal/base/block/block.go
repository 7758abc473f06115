// Package block takes memory in chunks, on or off the Go heap, within a limit. Packages
// arena, slab and http11 cut their allocations from such chunks; each decides how to cut
// and which chunks to keep. docs/adr/0008 has the reasons.
package block

import (
	"errors"
	"fmt"

	"github.com/isobar-go/isobar/internal/base/offheap"
)

// ErrLimit reports that a chunk does not fit within LimitBytes.
var ErrLimit = errors.New("memory limit reached")

// A Config configures a Source.
type Config struct {
	// LimitBytes bounds the total size of the chunks; 0 means no bound.
	LimitBytes int64
	// OnHeap makes chunks with make. Without it they are mapped from the
	// operating system and counted under Purpose.
	OnHeap  bool
	Purpose string
	// HugePages maps whole huge pages and asks the system for them.
	HugePages bool
	// KeepAddresses keeps the addresses of returned mapped chunks readable, for
	// the next chunks of the same size; see offheap.Account.Decommit. The contents
	// of a new chunk are then unspecified. It excludes HugePages.
	KeepAddresses bool
}

// A Source takes chunks and gives them back. It is for one goroutine at a time.
// The zero Source takes chunks from the heap, without a limit.
type Source struct {
	account *offheap.Account // nil on the heap
	huge    bool
	keep    bool
	limit   int64
	taken   int64
}

// NewSource returns a source with no chunks taken.
func NewSource(c Config) Source {
	s := Source{huge: c.HugePages, keep: c.KeepAddresses, limit: c.LimitBytes}
	if !c.OnHeap {
		s.account = offheap.For(c.Purpose)
	}
	return s
}

// OnHeap reports whether chunks come from the Go heap.
func (s *Source) OnHeap() bool { return s.account == nil }

// Bytes returns the total size of the chunks taken.
func (s *Source) Bytes() int64 { return s.taken }

// Round returns the size of the chunk that Take(size) returns: a whole number
// of words or pages.
func (s *Source) Round(size int) int {
	if s.account == nil {
		return (size + 7) &^ 7
	}
	return offheap.RoundUp(size, s.huge)
}

// Next returns the size for a next chunk of at least size bytes: as large as all earlier ones
// together, but from first to most, and no more than the limit leaves.
func (s *Source) Next(size, first, most int) int {
	want := max(first, min(int(s.taken), most))
	if s.limit > 0 {
		left := int(s.limit - s.taken)
		want = min(want, left-left%s.Round(1))
	}
	return max(want, size)
}

// Take returns a chunk of Round(size) bytes, aligned to 8 and, unless
// KeepAddresses is set, zeroed. The error wraps [ErrLimit] or is that of the
// operating system.
func (s *Source) Take(size int) ([]byte, error) {
	size = s.Round(size)
	if err := s.Claim(size); err != nil {
		return nil, err
	}
	var mem []byte
	var err error
	switch {
	case s.account == nil:
		mem = make([]byte, size)
	case s.keep:
		mem, err = s.account.Recommit(size)
	default:
		mem, err = s.account.Map(size, s.huge)
	}
	if err != nil {
		s.taken -= int64(size)
		return nil, err
	}
	return mem, nil
}

// Claim counts bytes that the caller takes from the heap itself. The error
// wraps [ErrLimit].
func (s *Source) Claim(bytes int) error {
	if s.limit > 0 && int64(bytes) > s.limit-s.taken {
		return fmt.Errorf("%w: %d of %d bytes are taken and %d more needed", ErrLimit, s.taken, s.limit, bytes)
	}
	s.taken += int64(bytes)
	return nil
}

// Give gives back a whole chunk that Take returned. Nobody may use it
// afterwards.
func (s *Source) Give(mem []byte) {
	s.taken -= int64(len(mem))
	switch {
	case s.account == nil: // the garbage collector frees it
	case s.keep:
		s.account.Decommit(mem)
	default:
		s.account.Unmap(mem)
	}
}
