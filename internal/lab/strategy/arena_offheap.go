package strategy

import "github.com/isobar-go/isobar/arena"

func init() {
	// Package arena, off the heap, one for each worker, reset every 64 buffers.
	Register("arena-offheap", func(size, workers int) (Strategy, error) {
		s := make(offHeapArenas, workers)
		for i := range s {
			a, err := arena.Open(arena.Config{ChunkBytes: max(arenaBuffers*size, 4<<10), Purpose: "strategy"})
			if err != nil {
				return nil, err
			}
			s[i] = offHeapArena{arena: a, size: size}
		}
		return s, nil
	})
}

// An offHeapArena is owned by its worker. Its memory lives as long as the child
// process.
type offHeapArena struct {
	arena *arena.Arena
	size  int
	taken int
	_     [128]byte // workers write to taken: keep these off each other's cache line
}

type offHeapArenas []offHeapArena

func (s offHeapArenas) Worker(i int) Worker { return &s[i] }

func (a *offHeapArena) Do(work func([]byte) uint64) uint64 {
	if a.taken == arenaBuffers {
		a.arena.Reset()
		a.taken = 0
	}
	a.taken++
	return work(a.arena.Bytes(a.size))
}
