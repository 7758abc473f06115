package arena_test

import (
	"fmt"

	"github.com/isobar-go/isobar/arena"
)

// words splits text into strings stored in the arena.
func words(a *arena.Arena, text string) []string {
	var all []string
	word := []byte(nil)
	for i := range len(text) {
		if text[i] != ' ' {
			word = arena.AppendTo(a, word, text[i])
		} else if len(word) > 0 {
			all = append(all, a.String(word))
			word = nil
		}
	}
	if len(word) > 0 {
		all = append(all, a.String(word))
	}
	return all
}

func Example() {
	a, err := arena.Open(arena.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Release()
	for _, text := range []string{"one request", "and   the next"} {
		fmt.Printf("%q\n", words(a, text))
		a.Reset() // the strings must not be used after this
	}
	// Output:
	// ["one" "request"]
	// ["and" "the" "next"]
}

func ExampleTyped() {
	type node struct {
		child *node
		name  string
	}
	nodes, err := arena.OpenTyped[node](arena.TypedConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	root := nodes.New()
	root.name, root.child = "root", nodes.New()
	root.child.name = "leaf"
	fmt.Println(root.name, root.child.name)

	kept := nodes.Mark()
	nodes.New().name = "scratch"
	nodes.Rewind(kept) // frees it and keeps the others
	fmt.Println(root.child.name)
	nodes.Reset()
	// Output:
	// root leaf
	// leaf
}
