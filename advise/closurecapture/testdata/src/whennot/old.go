//go:build go1.23

package whennot

import (
	"slices"
	"sync"
)

func written(items []int) {
	for i := 0; i < len(items); i++ {
		go func() {
			items[i]++
			i += 2
		}()
	}
}

func outer(items []int) {
	var wg sync.WaitGroup
	for range items {
		wg.Add(1)
		go func() { wg.Done() }()
	}
	filter := func(x int) bool { return x > len(items) }
	_ = filter(3)
	for _, x := range items {
		slices.IndexFunc(items, func(y int) bool { return x == y })
		func() { println(x) }()
	}
	wg.Wait()
}

type ranger interface{ Range(f func(int)) }

func one(r ranger) (sum int) {
	r.Range(func(x int) { sum += x })
	return sum
}
