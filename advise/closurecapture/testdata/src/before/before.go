//go:build go1.23

package before

import "sync"

type Item struct{ n int }
type Result struct{ n int }

func handle(it Item) Result { return Result{it.n * 2} }

// The document's code, at the version that it is anchored at.
func process(items []Item) []Result {
	results := make([]Result, len(items))
	var wg sync.WaitGroup
	for i, it := range items {
		wg.Add(1)
		go func() { // want `captures i, it of the loop; pass them as arguments`
			defer wg.Done()
			results[i] = handle(it)
		}()
	}
	wg.Wait()
	return results
}

func matrix(items [][]Item, results []Result) {
	var wg sync.WaitGroup
	for i, row := range items {
		for j := range row {
			wg.Add(1)
			go func() { // want `captures i, row, j of the loop`
				defer wg.Done()
				results[i] = handle(row[j])
			}()
		}
	}
	wg.Wait()
}
