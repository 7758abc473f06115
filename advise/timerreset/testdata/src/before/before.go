//go:build go1.22

package before

import "time"

func poll(ch <-chan int, d time.Duration) {
	t := time.NewTimer(d)
	for {
		t.Reset(d) // want `stop and drain it before Reset`
		select {
		case <-ch:
		case <-t.C:
		}
	}
}

func stopped(ch <-chan int, d time.Duration) {
	t := time.NewTimer(d)
	for {
		select {
		case <-ch:
			t.Stop()
			t.Reset(d) // want `stop and drain`
		case <-t.C:
			return
		}
	}
}

func either(ch <-chan int, d time.Duration) {
	t := time.NewTimer(d)
	for {
		select {
		case <-ch:
		case <-t.C:
			return
		}
		t.Reset(d) // want `stop and drain`
	}
}
