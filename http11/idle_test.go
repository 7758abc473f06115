package http11

import (
	"context"
	"math/rand/v2"
	"sync"
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

// TestIdleIsSeen checks that the last of many connections which end at once has
// the server report.
func TestIdleIsSeen(t *testing.T) {
	var working atomic.Int64
	idle := make(chan int64, 1)
	s := &Server{Handler: HandlerFunc(echo), Idle: func(time.Duration) bool {
		idle <- working.Load()
		return true
	}}
	if err := s.configure(); err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		var conns sync.WaitGroup
		for range 8 {
			conns.Go(func() {
				working.Add(1)
				defer working.Add(-1)
				for range rand.N(1000) {
					s.enter()
					s.leave(false)
				}
				s.enter()
				time.Sleep(rand.N(2 * idleAfter))
				s.leave(false)
			})
		}
		conns.Wait()
		select {
		case n := <-idle:
			for ; n != 0; n = <-idle { // a scheduler that kept all connections waiting
			}
		case <-time.After(time.Minute):
			t.Fatalf("round %d: no word of the idle server", round)
		}
	}
}

func BenchmarkIdle(b *testing.B) {
	s := &Server{Handler: HandlerFunc(echo), Idle: func(time.Duration) bool { return true }}
	if err := s.configure(); err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s.enter()
			s.leave(false)
		}
	})
}
