package before

import "time"

// What follows the if is not reached from the select: the loop goes on.
func reconnect(quit chan struct{}, dial func() bool, delay time.Duration) bool {
	for {
		if !dial() {
			select {
			case <-quit:
				return false
			case <-time.After(delay): // want `in each round`
				continue
			}
		}
		if dial() {
			select {
			case <-quit:
			case <-time.After(delay): // want `in each round`
			}
			continue
		}
		return true
	}
}

func assigned(ch chan int, delay time.Duration) (n int) {
	var trigger <-chan time.Time
	for {
		select {
		case <-ch:
			trigger = time.After(delay) // want `allocates a timer each time`
		case <-trigger:
			return n
		}
	}
}
