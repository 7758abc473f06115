// Command graph replaces the nodes of a random graph and searches it, on one
// goroutine.
package main

import (
	"fmt"
	"math/rand/v2"
)

type vertex struct {
	id    int
	edges []*vertex
	attrs map[string]int
}

func main() {
	rng := rand.New(rand.NewPCG(9, 9))
	const size = 60_000
	all := make([]*vertex, size)
	for i := range all {
		all[i] = &vertex{id: i}
	}
	reached := 0
	for step := range 20 {
		for range size / 4 {
			v := &vertex{id: rng.IntN(size), attrs: map[string]int{"step": step}}
			for range 6 {
				v.edges = append(v.edges, all[rng.IntN(size)])
			}
			all[v.id] = v
		}
		for _, v := range all { // old vertices must not live on through edges
			for i, e := range v.edges {
				v.edges[i] = all[e.id]
			}
		}
		seen := map[*vertex]bool{}
		queue := []*vertex{all[rng.IntN(size)]}
		for len(queue) > 0 && len(seen) < 20_000 {
			v := queue[0]
			queue = queue[1:]
			if !seen[v] {
				seen[v] = true
				queue = append(queue, v.edges...)
			}
		}
		reached += len(seen)
	}
	fmt.Println(reached)
}
