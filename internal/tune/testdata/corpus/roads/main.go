// Command roads builds networks of roads, and finds shortest ways and spanning trees in them.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/dominikbraun/graph"
)

const side = 40

func main() {
	rng := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range 8 {
		g := graph.New(graph.IntHash, graph.Weighted())
		for i := range side * side {
			must(g.AddVertex(i))
		}
		for i := range side * side {
			if i%side != side-1 {
				must(g.AddEdge(i, i+1, graph.EdgeWeight(1+rng.IntN(9))))
			}
			if i+side < side*side {
				must(g.AddEdge(i, i+side, graph.EdgeWeight(1+rng.IntN(9))))
			}
		}
		for range 4 {
			way, err := graph.ShortestPath(g, rng.IntN(side*side), rng.IntN(side*side))
			must(err)
			total += len(way)
		}
		tree, err := graph.MinimumSpanningTree(g)
		must(err)
		n, err := tree.Size()
		must(err)
		total += n
	}
	fmt.Println(total)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
