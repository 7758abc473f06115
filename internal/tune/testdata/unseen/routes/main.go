// Command routes finds shortest paths in a road network of 120 by 120 crossings.
package main

import (
	"fmt"
	"log"

	"github.com/dominikbraun/graph"
)

const side = 120

func main() {
	g := graph.New(graph.IntHash, graph.Weighted())
	for at := range side * side {
		if err := g.AddVertex(at); err != nil {
			log.Fatal(err)
		}
	}
	for at := range side * side {
		if at%side+1 < side {
			must(g.AddEdge(at, at+1, graph.EdgeWeight(1+at%7)))
		}
		if at+side < side*side {
			must(g.AddEdge(at, at+side, graph.EdgeWeight(1+at%5)))
		}
	}
	for trip := range 6 {
		path, err := graph.ShortestPath(g, trip*31, side*side-1-trip*17)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(path))
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
