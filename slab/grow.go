package slab

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/base/offheap"
)

// grow adds at least n chunks.
func (s *Slab[T]) grow(n int) error {
	s.mustBeOpen("Insert")
	for want := len(s.chunks) + n; len(s.chunks) < want; {
		// Map as much again as there is, up to maxRun chunks: this keeps the number
		// of mappings small and the excess below the memory in use.
		run := max(1, min(want-len(s.chunks), maxRun), min(len(s.chunks), maxRun))
		err := s.addChunks(run)
		if err != nil && run > 1 {
			err = s.addChunks(1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addChunks adds a run of n chunks, rounded up to whole pages.
func (s *Slab[T]) addChunks(n int) error {
	size := int(chunkBytes[T]())
	bytes := s.source.Round(n * size)
	n = bytes / size
	if len(s.chunks)+n > maxSlots/chunkSlots {
		return fmt.Errorf("%w: a slab has at most %d slots", ErrLimit, maxSlots)
	}
	if s.source.OnHeap() {
		if err := s.source.Claim(bytes); err != nil {
			return err
		}
		for range n {
			s.chunks = append(s.chunks, new(chunk[T]))
		}
		return nil
	}
	run, err := s.source.Take(bytes)
	if err != nil {
		return err
	}
	if err := s.widen(len(s.chunks) + n); err != nil {
		s.source.Give(run)
		return err
	}
	s.runs = append(s.runs, run)
	for i := range n {
		s.chunks = append(s.chunks, chunkAt[T](run[i*size:]))
	}
	return nil
}

// heapTable is how many chunks a table in the Go heap may list. The garbage
// collector looks up each pointer in the table, in vain where chunks are
// mapped, so a larger table is mapped too (BenchmarkCollect in bench/slab).
const heapTable = 512

// widen makes room for n chunks in the table of mapped chunks. Readers of a
// Concurrent may still use the previous table, so it stays mapped until
// Release. Each table is twice as large as the previous one, so the old ones
// together take at most as much again.
func (s *Slab[T]) widen(n int) error {
	if n <= max(cap(s.chunks), heapTable) {
		return nil
	}
	mem, err := s.tables.Take(2 * n * int(ptrBytes))
	if err != nil {
		return err
	}
	s.tabled = append(s.tabled, mem)
	s.chunks = append(tableAt[T](mem), s.chunks...)
	return nil
}

// Stats are the sizes of a slab. Compacting it would gain Slots less Live slots
// and Empty chunks.
type Stats struct {
	Live       int // objects
	Slots      int // slots used since the last Clear, free ones included
	Free       int // of these, slots that can be reused
	Retired    int // of these, slots whose generations are exhausted
	Chunks     int // of 1,024 slots each
	Empty      int // chunks without an object
	ChunkBytes int // taken for chunks
}

// Stats returns the current sizes. It looks at every slot.
func (s *Slab[T]) Stats() Stats {
	st := Stats{Live: s.live, Slots: int(s.bump), Chunks: len(s.chunks), ChunkBytes: int(s.source.Bytes())}
	for c := range s.chunks {
		live := 0
		for i := uint32(c * chunkSlots); i < min(s.bump, uint32(c+1)*chunkSlots); i++ {
			if s.at(i).meta.live() {
				live++
			}
		}
		if live == 0 {
			st.Empty++
		}
	}
	for i := s.free; i != none; i = s.at(i).meta.next() {
		st.Free++
	}
	st.Retired = st.Slots - st.Live - st.Free
	return st
}

// OffHeapBytes returns the bytes this process has mapped outside the Go heap
// through this module, by purpose.
func OffHeapBytes() map[string]int64 { return offheap.Usage() }
