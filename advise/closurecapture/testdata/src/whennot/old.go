//go:build go1.23

package whennot

import "sync"

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
	wg.Wait()
}
