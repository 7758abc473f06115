package whennot

import "time"

// Go 1.23 and later.
func poll(ch <-chan int, d time.Duration) {
	t := time.NewTimer(d)
	for {
		t.Reset(d)
		select {
		case <-ch:
		case <-t.C:
		}
	}
}
