//go:build go1.21

package before

import "time"

// Until Go 1.23 the timer stays until it fires.
func waitOnce(ch chan int) int {
	select {
	case n := <-ch:
		return n
	case <-time.After(time.Minute): // want `stays until it fires`
		return 0
	}
}
