//go:build go1.23

package after

import "sync"

type Item struct{ n int }
type Result struct{ n int }

func handle(it Item) Result { return Result{it.n * 2} }

func process(items []Item) []Result {
	results := make([]Result, len(items))
	var wg sync.WaitGroup
	for i, it := range items {
		wg.Add(1)
		go func(i int, it Item) { // args, not captures
			defer wg.Done()
			results[i] = handle(it)
		}(i, it)
	}
	wg.Wait()
	return results
}

type ThresholdFilter int

func (t ThresholdFilter) Test(x int) bool { return x > int(t) }
