package whennot

import "time"

// Waited for once.
func until(d time.Duration) <-chan time.Time { return time.After(d) }

func waitsOnce(ch <-chan int) {
	select {
	case <-ch:
	case <-until(time.Minute):
	}
}

// Made before the loop.
func waitsLong(ch <-chan int) {
	deadline := until(time.Minute)
	for {
		select {
		case <-ch:
		case <-deadline:
			return
		}
	}
}
