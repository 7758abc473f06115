package strategy

func init() {
	// Bump allocation from a chunk of 64 buffers per worker, reset when used up.
	Register("arena", func(size, workers int) ([]Worker, error) {
		all := make([]Worker, workers)
		for i := range all {
			a := &bumpArena{chunk: make([]byte, arenaBuffers*size), size: size}
			all[i] = a.do
		}
		return all, nil
	})
}

// arenaBuffers is how many buffers a worker gets before it reuses the chunk. Seed
// document 000 uses a chunk of one buffer (step 6): every operation overwrites the
// last, in a cache that is always warm.
const arenaBuffers = 64

// A bumpArena is owned by its worker.
type bumpArena struct {
	chunk []byte
	used  int
	size  int
	_     [128]byte // workers write to used: keep these off each other's cache line
}

func (a *bumpArena) do(work func([]byte) uint64) uint64 {
	end := a.used + a.size
	if end > len(a.chunk) {
		end = a.size // reset: no buffer outlives its operation
	}
	b := a.chunk[end-a.size : end : end]
	a.used = end
	return work(b)
}
