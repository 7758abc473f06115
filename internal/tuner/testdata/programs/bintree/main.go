// Command bintree builds and walks binary trees beside one that lives on.
package main

import (
	"fmt"
	"os"
	"strconv"
)

type node struct{ left, right *node }

func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{build(depth - 1), build(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func main() {
	depth, rounds := 20, 500
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	long := build(depth)
	results := make(chan int)
	const workers = 2
	for range workers {
		go func() {
			sum := 0
			for range rounds {
				sum += build(14).count()
			}
			results <- sum
		}()
	}
	sum := 0
	for range workers {
		sum += <-results
	}
	fmt.Println(sum, long.count())
}
