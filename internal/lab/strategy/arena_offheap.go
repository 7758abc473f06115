package strategy

import "github.com/isobar-go/isobar/arena"

func init() {
	// Package arena, off the heap, one arena per worker, reset every 64 buffers.
	Register("arena-offheap", func(size, workers int) ([]Worker, error) {
		all := make([]Worker, workers)
		for i := range all {
			a, err := arena.Open(arena.Config{ChunkBytes: max(arenaBuffers*size, 4<<10), Purpose: "strategy"})
			if err != nil {
				return nil, err
			}
			all[i] = (&offHeapArena{arena: a, size: size}).do
		}
		return all, nil
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

func (a *offHeapArena) do(work func([]byte) uint64) uint64 {
	if a.taken == arenaBuffers {
		a.arena.Reset()
		a.taken = 0
	}
	a.taken++
	return work(a.arena.Bytes(a.size))
}
