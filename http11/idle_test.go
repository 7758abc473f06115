package http11

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdle checks that a server reports once that it is idle, after a while
// without requests and not between the requests of a burst.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		s := &Server{Handler: HandlerFunc(echo), Idle: func(expect time.Duration) bool {
			if expect != 0 {
				t.Errorf("idle for %v", expect)
			}
			calls.Add(1)
			return true
		}}
		if err := s.configure(); err != nil {
			t.Fatal(err)
		}
		request := func(d time.Duration) {
			s.enter()
			time.Sleep(d)
			s.leave(false)
		}
		for want := range int64(3) {
			for range 20 { // a burst
				request(idleAfter / 4)
				time.Sleep(idleAfter / 2)
			}
			request(5 * idleAfter) // a long one
			s.enter()              // a head in two parts
			s.leave(true)
			synctest.Wait()
			if n := calls.Load(); n != want {
				t.Errorf("%d calls in burst %d", n, want)
			}
			request(0)
			time.Sleep(100 * idleAfter)
			if n := calls.Load(); n != want+1 {
				t.Errorf("%d calls after burst %d, want one more", n, want)
			}
		}
		s.enter() // it ends when the server is closed
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		s.leave(false)
		time.Sleep(100 * idleAfter)
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls after Shutdown, want 3", n)
		}
	})
}
