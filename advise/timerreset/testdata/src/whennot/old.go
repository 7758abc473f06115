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

func otherwiseReturned(ch <-chan int, d time.Duration) {
	timer := time.NewTimer(d)
	for {
		select {
		case <-ch:
			timer.Stop()
			return
		case <-timer.C:
		}
		if d > time.Second {
			timer.Reset(d)
		} else {
			timer.Reset(time.Second)
		}
	}
}

func assigned(d time.Duration) (now time.Time) {
	timer := time.NewTimer(d)
	for now.IsZero() {
		now = <-timer.C
		timer.Reset(d)
	}
	return now
}

func function(d time.Duration, f func()) {
	late := time.AfterFunc(d, f)
	late.Reset(d)
}
