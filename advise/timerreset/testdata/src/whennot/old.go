//go:build go1.22

package whennot

import "time"

func received(ch <-chan int, d time.Duration) {
	timer := time.NewTimer(d)
	for {
		select {
		case <-ch:
		case <-timer.C:
			timer.Reset(d)
		}
	}
}

func function(d time.Duration, f func()) {
	late := time.AfterFunc(d, f)
	late.Reset(d)
}
