package whennot

import "time"

func init() {
	select {
	case <-time.After(time.Second): // once, at start-up
	}
}

// One timer serves all rounds.
func paced(n int, d time.Duration, done chan bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for range n {
		select {
		case <-done:
			return
		case <-t.C:
			t.Reset(d)
		}
	}
	time.Sleep(d)
}
