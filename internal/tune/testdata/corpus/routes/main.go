// Command routes finds shortest paths on a grid of streets.
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
)

func main() {
	const side = 110
	g := simple.NewWeightedUndirectedGraph(0, math.Inf(1))
	join := func(a, b int) {
		g.SetWeightedEdge(g.NewWeightedEdge(simple.Node(a), simple.Node(b), float64(1+(a*31+b*17)%23)))
	}
	for y := range side {
		for x := range side {
			at := y*side + x
			if x+1 < side {
				join(at, at+1)
			}
			if y+1 < side {
				join(at, at+side)
			}
		}
	}
	sum := 0.0
	for i := range 12 {
		from := path.DijkstraFrom(simple.Node(i*side+7*i), g)
		for to := 0; to < side*side; to += 501 {
			way, length := from.To(int64(to))
			sum += length + float64(len(way))
		}
	}
	fmt.Println(sum)
}
