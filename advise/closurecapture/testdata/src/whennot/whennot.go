package whennot

import (
	"net/http"
	"sync"
)

// Go 1.26: captures are fewer allocations than arguments.
func process(items []int) []int {
	results := make([]int, len(items))
	var wg sync.WaitGroup
	for i, it := range items {
		wg.Add(1)
		go func() {
			defer wg.Done()
			results[i] = it
		}()
	}
	wg.Wait()
	return results
}

func guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Token") == token {
			next.ServeHTTP(w, r)
		}
	})
}
