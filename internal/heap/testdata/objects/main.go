// Objects keeps the given number of records of six objects alive, prints the live
// bytes, and waits until its standard input ends.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

type user struct {
	name string
	tags []string
	next *user
	last any
}

var (
	byID  = make(map[int]*user)
	first *user
	boxes []any
)

func main() {
	n := 0
	fmt.Sscan(os.Args[1], &n)
	for i := range n { // six objects each, the map's and slice's own aside
		u := &user{name: fmt.Sprint("user ", i), tags: make([]string, 2), last: &[3]int{i}}
		if i%2 == 0 {
			byID[i] = u
		} else {
			u.next, first = first, u
		}
		boxes = append(boxes, fmt.Sprint("box ", i))
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("live", m.HeapAlloc, m.HeapObjects)
	io.Copy(io.Discard, os.Stdin)
}
