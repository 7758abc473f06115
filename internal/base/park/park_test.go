package park

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func made() *Sleeper {
	s := new(Sleeper)
	s.Init()
	return s
}

// A wake-up ends the announced sleep that it finds, and no other.
func TestWake(t *testing.T) {
	for _, selects := range []bool{false, true} {
		s := made()
		s.Wake() // nobody sleeps
		s.Announce(selects)
		s.Wake()
		s.Wake() // that sleep has ended
		s.Wait()
		s.Announce(selects)
		if !s.Retract() {
			t.Error("a wake-up is left")
		}
		s.Announce(selects)
		s.Wake()
		if s.Stop() {
			t.Error("Stop did not find the wake-up")
		}
		if n, asleep := s.Sleeps(); n != 2 || asleep {
			t.Errorf("%d sleeps, asleep %v; want 2, false", n, asleep)
		}
		s.Announce(selects)
		if n, asleep := s.Sleeps(); n != 3 || !asleep || !s.Asleep() {
			t.Errorf("%d sleeps, asleep %v; want 3, true", n, asleep)
		}
		if !s.Stop() || len(s.token) != 0 {
			t.Error("a wake-up is left at the end")
		}
	}
}

// A waiting goroutine is listed as sleeping: the number of the reason is that of this version of Go.
func TestReason(t *testing.T) {
	s, want := made(), " [sleep]:"
	if !Direct {
		want = " [chan receive]:"
	}
	id := make(chan []byte)
	go func() {
		stack := make([]byte, 100)
		id <- bytes.Fields(stack[:runtime.Stack(stack, false)])[1]
		s.Announce(false)
		s.Wait()
		id <- nil
	}()
	line := append(append([]byte("goroutine "), <-id...), want...)
	all := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stacks := all[:runtime.Stack(all, true)]
		if bytes.Contains(stacks, line) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line %q in\n%s", line, stacks)
		}
	}
	s.Wake()
	<-id
}

// In a bubble, time advances while a goroutine waits here.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := made(), time.Now()
		time.AfterFunc(time.Hour, s.Wake)
		s.Announce(false)
		s.Wait()
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("waited %v, want an hour", waited)
		}
	})
}

// Neither a sleep nor a wake-up allocates.
func TestAllocations(t *testing.T) {
	s, answer := made(), make(chan struct{}, 1)
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			s.Announce(false)
			answer <- struct{}{}
			s.Wait()
		}
	})
	allocs := testing.AllocsPerRun(1000, func() {
		<-answer
		s.Wake()
	})
	<-answer // it sleeps
	over.Store(true)
	s.Wake()
	wg.Wait()
	if allocs != 0 {
		t.Errorf("%v allocations a sleep, want 0", allocs)
	}
}

// No wake-up is lost and none is left over: an owner takes the work that others add, with
// every way to end a sleep, while the heap is collected and stacks move.
func TestStress(t *testing.T) {
	for _, others := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(others), func(t *testing.T) {
			each := 40_000 / int64(others)
			if testing.Short() {
				each /= 10
			}
			s := made()
			var work atomic.Int64
			var wg sync.WaitGroup
			for range others {
				wg.Go(func() {
					for i := range each {
						work.Add(1)
						s.Wake()
						for i%4 == 0 && work.Load() != 0 { // let it fall asleep
							runtime.Gosched()
						}
					}
				})
			}
			ticker := time.NewTicker(50 * time.Microsecond)
			defer ticker.Stop()
			got, turns := int64(0), 0
			for got < each*int64(others) {
				turns++
				got += deep(turns%50, func() int64 { return take(s, &work, ticker, turns) })
			}
			wg.Wait()
			if n, _ := s.Sleeps(); n < uint64(each)/100 {
				t.Errorf("only %d sleeps", n)
			}
			if len(s.token) != 0 || s.Asleep() || work.Load() != 0 {
				t.Errorf("%d tokens, asleep %v, %d of work left", len(s.token), s.Asleep(), work.Load())
			}
		})
	}
}

// take sleeps until there is work, in one of three ways, and takes it.
func take(s *Sleeper, work *atomic.Int64, ticker *time.Ticker, turn int) int64 {
	s.Announce(turn%3 == 0)
	if n := work.Swap(0); n != 0 {
		s.Retract()
		return n
	}
	if turn%3 != 0 {
		s.Wait()
		return work.Swap(0)
	}
	select {
	case <-s.C():
	case <-ticker.C:
		s.Stop()
	}
	return work.Swap(0)
}

// deep calls f with a stack that grows and, after a collection, shrinks.
func deep(levels int, f func() int64) int64 {
	var room [256]byte
	if levels == 0 {
		return f()
	}
	n := deep(levels-1, f)
	runtime.KeepAlive(&room)
	if levels == 49 && rand.N(50) == 0 {
		runtime.GC()
	}
	return n
}

// BenchmarkWake measures a wake-up and its answer, compared with a channel instead of the Sleeper.
func BenchmarkWake(b *testing.B) {
	b.Run("sleeper", func(b *testing.B) {
		s, answer := made(), make(chan struct{}, 1)
		go func() {
			for range b.N {
				s.Announce(false)
				answer <- struct{}{}
				s.Wait()
			}
		}()
		for range b.N {
			<-answer
			s.Wake()
		}
	})
	b.Run("channel", func(b *testing.B) {
		wake, answer := make(chan struct{}, 1), make(chan struct{}, 1)
		go func() {
			for range b.N {
				answer <- struct{}{}
				<-wake
			}
		}()
		for range b.N {
			<-answer
			wake <- struct{}{}
		}
	})
}
