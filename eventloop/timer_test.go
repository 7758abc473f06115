package eventloop

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		start := time.Now()
		type event struct {
			name string
			at   time.Duration
		}
		var got []event
		say := func(name string) func() {
			return func() { got = append(got, event{name, time.Since(start)}) }
		}
		set := func(d time.Duration, f func()) Timer {
			timer, err := l.After(d, f)
			if err != nil {
				t.Error(err)
			}
			return timer
		}
		set(2*time.Second, say("two"))
		set(time.Second, say("one"))
		set(time.Second, say("one, second"))
		set(-time.Second, say("past"))
		never := set(math.MaxInt64, say("never"))
		cancelled := set(time.Second, say("cancelled"))
		startLoop(t, l)
		synctest.Wait()
		if !cancelled.Cancel() || cancelled.Cancel() {
			t.Error("Cancel of a pending timer is not true once")
		}
		set(1500*time.Millisecond, func() { // from outside, and from the loop
			say("outside")()
			set(0, say("zero"))
			set(100*time.Millisecond, say("inside"))
		})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want := []event{
			{"past", 0}, {"one", time.Second}, {"one, second", time.Second}, {"outside", 1500 * time.Millisecond},
			{"zero", 1500 * time.Millisecond}, {"inside", 1600 * time.Millisecond}, {"two", 2 * time.Second},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if s := l.Stats(); s.Timers != 1 || s.MaxLag != 0 {
			t.Errorf("%+v", s)
		}
		if !never.Cancel() || l.Stats().Timers != 0 {
			t.Error("the timer that is never due was not pending")
		}
	})
}

func TestIntervalsDoNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{OnPanic: func(any, []byte) {}})
		startLoop(t, l)
		start := time.Now()
		var at []time.Duration
		var every Timer
		tick := func() {
			at = append(at, time.Since(start)/time.Millisecond)
			switch len(at) {
			case 1:
				time.Sleep(3 * time.Millisecond) // not late
			case 2:
				time.Sleep(35 * time.Millisecond) // from 20 to 55: 30 is late, 40 and 50 collapse into that run
			case 4:
				panic("goes on")
			case 6:
				if !every.Cancel() || every.Cancel() {
					t.Error("Cancel from its own function")
				}
			}
		}
		l.Submit(func() {
			var err error
			if every, err = l.Every(10*time.Millisecond, tick); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []time.Duration{10, 20, 55, 60, 70, 80}; !slices.Equal(at, want) {
			t.Errorf("ran at %v, want %v", at, want)
		}
		if s := l.Stats(); every.Missed() != 2 || s.Missed != 2 || s.MaxLag != 25*time.Millisecond || s.Timers != 0 || s.Panics != 1 {
			t.Errorf("missed %d, %+v", every.Missed(), s)
		}
	})
}

// A timer that sets itself again at once does not starve tasks.
func TestTimersDoNotStarveTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		startLoop(t, l)
		n, stop := 0, false
		var again func()
		again = func() {
			if n++; !stop && n < 1_000_000 {
				l.After(0, again)
			}
		}
		l.After(0, again)
		l.Submit(func() { stop = true })
		synctest.Wait()
		if n >= 1_000_000 {
			t.Error("the task did not run")
		}
	})
}

// The heap returns what a sorted list returns, and bounds its garbage.
func TestHeapAgainstASortedList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q timers
		type item struct {
			due int64
			id  int
			t   Timer
		}
		var model []item
		var old []Timer // every timer ever made
		got := -1
		for id := range 1000 {
			switch {
			case r.IntN(3) > 0:
				due := r.Int64N(50)
				tm, _ := q.add(due, 0, func() { got = id })
				model = append(model, item{due, id, tm})
				old = append(old, tm)
			case len(model) > 0 && r.IntN(2) == 0:
				i := r.IntN(len(model))
				if !q.cancel(model[i].t) || q.cancel(model[i].t) {
					t.Fatal("cancel of a pending timer is not true once")
				}
				model = slices.Delete(model, i, i+1)
			case len(model) > 0:
				i := 0
				for j := range model {
					if model[j].due < model[i].due {
						i = j
					}
				}
				now := r.Int64N(50)
				run, lag := q.due(now, math.MaxUint64)
				if (run != nil) != (model[i].due <= now) {
					t.Fatalf("due(%d) but the first is due at %d", now, model[i].due)
				}
				if run != nil {
					run()
					if got != model[i].id || lag != now-model[i].due {
						t.Fatalf("got timer %d late by %d, want %d by %d", got, lag, model[i].id, now-model[i].due)
					}
					model = slices.Delete(model, i, i+1)
				}
			}
			if len(old) > 0 {
				tm := old[r.IntN(len(old))]
				if !slices.ContainsFunc(model, func(i item) bool { return i.t == tm }) && q.cancel(tm) {
					t.Fatal("a timer that is over cancels another one")
				}
			}
			if int(q.live.Load()) != len(model) || len(q.heap) != len(model)+q.dead || q.dead > max(64, len(q.heap)/2+1) {
				t.Fatalf("%d live and %d over of %d nodes, want %d live", q.live.Load(), q.dead, len(q.heap), len(model))
			}
		}
	}
}

// A timer that has run or been cancelled is reused, and the Timer of its
// earlier use has no effect then.
func TestTimersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		startLoop(t, l)
		ran := 0
		f := func() { ran++ }
		after := func() Timer {
			tm, err := l.After(time.Second, f)
			if err != nil {
				t.Fatal(err)
			}
			return tm
		}
		first := after()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		second := after()
		synctest.Wait() // the loop sleeps again: it ignores cancelled timers
		if ran != 1 || second.t != first.t || first.Cancel() || !second.Cancel() || first.Missed() != 0 {
			t.Errorf("%d ran, %+v, %+v", ran, first, second)
		}
		third := after() // second is still in the heap
		if third.t == second.t || second.Cancel() || !third.Cancel() {
			t.Errorf("%+v, %+v", second, third)
		}
		every, err := l.Every(time.Second, f)
		if err != nil || every.t == first.t {
			t.Errorf("%v: an interval took the place of a timer that runs once", err)
		}
		if !every.Cancel() {
			t.Error("Cancel of an interval")
		}
		if ran != 1 || l.timers.spare > maxSpareTimers {
			t.Errorf("%d ran", ran)
		}
	})
}

func TestAfterDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	l := mustNew(t, Config{})
	startLoop(t, l)
	reply := make(chan struct{}, 1)
	f := func() { reply <- struct{}{} }
	if n := testing.AllocsPerRun(2000, func() {
		l.After(0, f)
		if tm, _ := l.After(time.Hour, f); !tm.Cancel() {
			t.Error("Cancel")
		}
		<-reply
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTimersFromManyGoroutines(t *testing.T) {
	l := mustNew(t, Config{})
	startLoop(t, l)
	var ran sync.WaitGroup
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := range 500 {
				ran.Add(1)
				tm, err := l.After(time.Duration(i%100)*time.Microsecond, ran.Done)
				if err != nil {
					t.Error(err)
				}
				if (i+p)%3 == 0 && tm.Cancel() {
					ran.Done()
				}
			}
		})
	}
	wg.Wait()
	ran.Wait()
	if n := l.Stats().Timers; n != 0 {
		t.Errorf("%d timers pending", n)
	}
}

// A loop that went to sleep beside a cancelled timer wakes for a later one.
func TestTimerAfterCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		startLoop(t, l)
		synctest.Wait() // it sleeps
		l.Submit(func() {
			early, err := l.After(time.Hour, func() { t.Error("a cancelled timer ran") })
			if err != nil || !early.Cancel() {
				t.Error("no timer to cancel", err)
			}
		})
		synctest.Wait()
		ran := false
		if _, err := l.After(2*time.Hour, func() { ran = true }); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if !ran {
			t.Error("the timer did not run")
		}
		if s := l.Stats(); s.Sleeps != 4 || s.Wakeups != 2 {
			t.Errorf("%+v, want 4 sleeps: after the start, the task, the timer and its run", s)
		}
	})
}
