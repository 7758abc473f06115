//go:build go1.22

package after

import "time"

func poll(ch <-chan int, d time.Duration) {
	t := time.NewTimer(d)
	for {
		if !t.Stop() {
			select {
			case <-t.C:
			default:
			}
		}
		t.Reset(d)
		select {
		case <-ch:
		case <-t.C:
		}
	}
}
