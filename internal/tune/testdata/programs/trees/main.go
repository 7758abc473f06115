// Command trees makes trees and forgets them, beside one that it keeps.
package main

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

var kept *tree

func main() {
	kept = grow(17)
	for range 500 {
		grow(12)
	}
}
