package queue_test

import (
	"fmt"
	"sync"

	"github.com/isobar-go/isobar/queue"
)

func Example() {
	q := queue.NewMPSC[int](queue.MPSCConfig{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				q.Push(i)
			}
		})
	}
	wg.Wait()

	sum, batch := 0, make([]int, 64)
	for n := q.Drain(batch); n > 0; n = q.Drain(batch) {
		for _, v := range batch[:n] {
			sum += v
		}
	}
	fmt.Println(sum)
	// Output: 19800
}

func ExampleSPSCRing() {
	r := queue.NewSPSCRing[string](2)
	for _, s := range []string{"one", "two", "three"} {
		if !r.Push(s) {
			fmt.Println("full:", s)
		}
	}
	for s, ok := r.Pop(); ok; s, ok = r.Pop() {
		fmt.Println(s)
	}
	// Output:
	// full: three
	// one
	// two
}
