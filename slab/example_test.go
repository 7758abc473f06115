package slab_test

import (
	"fmt"

	"github.com/isobar-go/isobar/slab"
)

type item struct {
	next slab.Handle[item] // instead of *item
	n    int
}

func Example() {
	items, err := slab.New[item](slab.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer items.Release()

	var list slab.Handle[item]
	for n := range 3 {
		list = items.Insert(item{next: list, n: n})
	}
	for h := list; ; {
		v, ok := items.Get(h)
		if !ok {
			break
		}
		fmt.Println(v.n)
		h = v.next
	}

	items.Remove(list)
	items.Insert(item{n: 7}) // reuses the slot of the first
	_, ok := items.Get(list)
	fmt.Println("stale handle:", ok)
	// Output:
	// 2
	// 1
	// 0
	// stale handle: false
}
