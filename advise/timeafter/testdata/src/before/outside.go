package before

import "time"

func waitInside(ch <-chan int) {
	select {
	case <-ch:
	case <-time.After(time.Millisecond): // want `a timer and a channel in each call`
	}
}

func waits(list []int) {
	for range list {
		<-time.After(time.Millisecond)     // want `allocates a timer each time`
		ch := time.After(time.Millisecond) // want `allocates a timer each time`
		select {
		case <-ch:
		case t := <-time.After(time.Millisecond): // want `allocates a timer each time`
			_ = t
		}
	}
}
