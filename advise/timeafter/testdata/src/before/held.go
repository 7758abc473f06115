package before

import "time"

// A variable holds it for the select.
func heldBefore(ch chan int, d time.Duration) (n int) {
	timeout := time.After(d) // want `a timer and a channel in each call`
	for {
		select {
		case x := <-ch:
			n += x
		case <-timeout:
			return n
		}
	}
}

func ticks(ch chan int) {
	for {
		select {
		case <-ch:
		case <-time.Tick(time.Second): // want `nothing stops the ticker`
		}
	}
}

func init() { go serve(make(chan int)) }

// The loop begins at start-up, and goes on.
func serve(ch chan int) {
	for {
		select {
		case <-ch:
		case <-time.After(time.Duration(len(ch))): // want `in each round`
		}
	}
}
