//go:build goexperiment.arenas

package workload

import "arena"

const haveGoArena = true

// A goArena is one of Go's experimental arenas, which takes 8 MB (64-bit) at
// its first allocation. The zero value is empty. It belongs to the worker.
type goArena struct{ a *arena.Arena }

func (g *goArena) free() {
	if g.a != nil {
		g.a.Free()
		g.a = nil
	}
}

// inGoArena is onHeap with one arena per request. The next request frees it.
func (s *HTTPShape) inGoArena(r *heapRequest) {
	r.arena.free()
	a := arena.NewArena()
	r.arena.a = a
	r.parts = arena.MakeSlice[string](a, 0, len(s.Parts))
	for _, part := range s.Parts {
		b := arena.MakeSlice[byte](a, len(part), len(part))
		copy(b, part)
		r.parts = append(r.parts, arenaString(b))
	}
	r.body = arena.MakeSlice[byte](a, len(s.Body), len(s.Body))
	copy(r.body, s.Body)
}
