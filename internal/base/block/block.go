// Package block takes memory in chunks, from the Go heap or off it, within a
// limit. Packages arena, slab and http11 cut what they hand out from such
// chunks; how they cut, and which chunks they keep, is theirs: docs/adr/0008
// has the reasons.
package block

import (
	"errors"
	"fmt"

	"github.com/isobar-go/isobar/internal/base/offheap"
)

// ErrLimit says that a chunk does not fit within LimitBytes.
var ErrLimit = errors.New("memory limit reached")

// A Config says where chunks come from.
type Config struct {
	// LimitBytes bounds the chunks together; 0 is no bound.
	LimitBytes int64
	// OnHeap makes chunks with make. Without it they are mapped from the
	// operating system and counted under Purpose.
	OnHeap  bool
	Purpose string
	// HugePages maps whole huge pages and asks for them.
	HugePages bool
	// KeepAddresses leaves the addresses of mapped chunks that go back readable,
	// for the next ones of their size: see offheap.Account.Decommit. The
	// contents of a chunk are unspecified then. It excludes HugePages.
	KeepAddresses bool
}

// A Source takes chunks and gives them back. It is for one goroutine at a time.
// The zero Source takes them from the heap, without a limit.
type Source struct {
	account *offheap.Account // nil on the heap
	huge    bool
	keep    bool
	limit   int64
	taken   int64
}

// NewSource returns a source of which nothing is taken.
func NewSource(c Config) Source {
	s := Source{huge: c.HugePages, keep: c.KeepAddresses, limit: c.LimitBytes}
	if !c.OnHeap {
		s.account = offheap.For(c.Purpose)
	}
	return s
}

// OnHeap tells that chunks are of the Go heap.
func (s *Source) OnHeap() bool { return s.account == nil }

// Bytes are the chunks that are taken.
func (s *Source) Bytes() int64 { return s.taken }

// Round returns the size of the chunk that Take(size) returns: whole words or
// whole pages.
func (s *Source) Round(size int) int {
	if s.account == nil {
		return (size + 7) &^ 7
	}
	return offheap.RoundUp(size, s.huge)
}

// Take returns a chunk of Round(size) bytes, aligned to 8 and zeroed unless
// KeepAddresses says otherwise. The error wraps [ErrLimit] or says what the
// operating system refused.
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

// Claim counts bytes that the caller takes from the heap by itself. The error
// wraps [ErrLimit].
func (s *Source) Claim(bytes int) error {
	if s.limit > 0 && int64(bytes) > s.limit-s.taken {
		return fmt.Errorf("%w: %d of %d bytes are taken and %d more needed", ErrLimit, s.taken, s.limit, bytes)
	}
	s.taken += int64(bytes)
	return nil
}

// Give gives back a chunk, the whole of what Take returned. Nobody may use it
// afterwards.
func (s *Source) Give(mem []byte) {
	s.taken -= int64(len(mem))
	switch {
	case s.account == nil: // the garbage collector takes it
	case s.keep:
		s.account.Decommit(mem)
	default:
		s.account.Unmap(mem)
	}
}
