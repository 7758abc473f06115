//go:build goexperiment.arenas

package arena

import (
	"testing"

	std "arena"
)

func benchStdTyped(b *testing.B, name string, n int) {
	b.Run(name, func(b *testing.B) {
		rounds(b, n, func() {
			a := std.NewArena()
			var last *node
			for i := range n {
				p := std.New[node](a)
				p.left, p.key = last, uint64(i)
				last = p
			}
			sinkNode = last
			a.Free()
			sinkNode = nil
		})
	})
}

func benchStdTree(b *testing.B, name string, depth, n int) {
	b.Run(name, func(b *testing.B) {
		rounds(b, n, func() {
			a := std.NewArena()
			walk(grow(depth, func() *node { return std.New[node](a) }))
			a.Free()
		})
	})
}
