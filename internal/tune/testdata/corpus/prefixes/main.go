// Command prefixes fills an immutable radix tree, version by version, and looks
// prefixes up meanwhile.
package main

import (
	"fmt"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

func main() {
	tree := iradix.New[int]()
	found := 0
	for i := range 60_000 {
		key := fmt.Sprintf("/region/%d/zone/%d/host/%d", i%7, i%101, i)
		tree, _, _ = tree.Insert([]byte(key), i)
		if i%3 == 0 {
			if _, _, ok := tree.Root().LongestPrefix([]byte(key + "/port")); ok {
				found++
			}
		}
		if i%4 == 3 {
			tree, _, _ = tree.Delete(fmt.Appendf(nil, "/region/%d/zone/%d/host/%d", (i/2)%7, (i/2)%101, i/2))
		}
	}
	fmt.Println(tree.Len(), found)
}
