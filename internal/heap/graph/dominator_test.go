package graph

import (
	"math/rand/v2"
	"testing"
)

// naive returns, for every node, which nodes are unreachable without it, by one search each.
func naive(g *Digraph) [][]bool {
	lost := make([][]bool, g.N())
	all := reach(g, -1)
	for v := range lost {
		without := reach(g, v)
		lost[v] = make([]bool, g.N())
		for w := range lost[v] {
			lost[v][w] = all[w] && !without[w]
		}
	}
	return lost
}

func reach(g *Digraph, without int) []bool {
	seen := make([]bool, g.N())
	if without == 0 {
		return seen
	}
	seen[0] = true
	for stack := []uint32{0}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, w := range g.To[g.Start[v]:g.Start[v+1]] {
			if !seen[w] && int(w) != without {
				seen[w] = true
				stack = append(stack, w)
			}
		}
	}
	return seen
}

func random(r *rand.Rand, nodes, edges int) *Digraph {
	rows := make([][]uint32, nodes)
	for range edges {
		v := r.IntN(nodes)
		rows[v] = append(rows[v], uint32(r.IntN(nodes)))
	}
	g := &Digraph{Start: make([]uint32, 1, nodes+1)}
	for _, row := range rows {
		g.To = append(g.To, row...)
		g.Start = append(g.Start, uint32(len(g.To)))
	}
	return g
}

// TestRetainedIsWhatRemovingLoses compares retained sizes by dominators with their definition:
// remove the node and mark again.
func TestRetainedIsWhatRemovingLoses(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := 1 + r.IntN(40)
		g := random(r, nodes, r.IntN(4*nodes))
		size := make([]uint64, nodes)
		for i := range size {
			size[i] = r.Uint64N(100)
		}
		idom, preorder := g.Dominators()
		retained := Retained(idom, preorder, size)
		for v, lost := range naive(g) {
			want := uint64(0)
			for w, is := range lost {
				if is {
					want += size[w]
				}
			}
			if retained[v] != want {
				t.Fatalf("seed %d, node %d: retained %d, want %d\n%v", seed, v, retained[v], want, g)
			}
		}
	}
}

func FuzzDominators(f *testing.F) {
	f.Add([]byte{3, 0, 1, 1, 2, 2, 0})
	f.Add([]byte{6, 0, 1, 0, 2, 1, 3, 2, 3, 3, 4, 4, 5, 5, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || b[0] == 0 || b[0] > 30 || len(b) > 300 {
			return
		}
		n := int(b[0])
		rows := make([][]uint32, n)
		for i := 1; i+1 < len(b); i += 2 {
			rows[int(b[i])%n] = append(rows[int(b[i])%n], uint32(int(b[i+1])%n))
		}
		g := &Digraph{Start: []uint32{0}}
		for _, row := range rows {
			g.To = append(g.To, row...)
			g.Start = append(g.Start, uint32(len(g.To)))
		}
		idom, preorder := g.Dominators()
		size := make([]uint64, n)
		for i := range size {
			size[i] = 1 << i
		}
		retained := Retained(idom, preorder, size)
		for v, lost := range naive(g) {
			want := uint64(0)
			for w, is := range lost {
				if is {
					want |= 1 << w
				}
			}
			if retained[v] != want {
				t.Fatalf("node %d retains %b, want %b", v, retained[v], want)
			}
		}
	})
}

func BenchmarkDominators(b *testing.B) {
	g := random(rand.New(rand.NewPCG(1, 1)), 1<<20, 1<<21)
	b.ReportAllocs()
	for b.Loop() {
		g.Dominators()
	}
}
