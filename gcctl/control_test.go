package gcctl

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestShedsWhenNothingFits(t *testing.T) {
	for _, mode := range []Mode{Default, Off, Hybrid, Idle, Adaptive, Percent(50)} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testShed(t, mode) })
		})
	}
}

func testShed(t *testing.T, mode Mode) {
	f := newFake(100*mb, 200*mb)
	live := 100.0 * mb
	var grownAt, alarmAt uint64 // collections
	f.live = func(time.Duration) float64 { return live }
	var sheds int // under f.mu, like live and alarmAt
	c := control(t, Config{Mode: mode, LimitBytes: 600 * mb, OnShed: func(s Shed) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if sheds++; sheds == 1 {
			alarmAt = f.cycles
		}
		live -= float64(s.ExcessBytes)
	}}, f)
	t.Cleanup(func() { c.Close() })
	time.Sleep(20 * time.Second)
	f.mu.Lock()
	if sheds != 0 {
		t.Error("asked to shed load without need")
	}
	live, grownAt = 560*mb, f.cycles
	f.held, f.heap = live, live
	f.mu.Unlock()
	time.Sleep(20 * time.Second)
	st := c.Stats()
	f.mu.Lock()
	defer f.mu.Unlock()
	if sheds == 0 || st.Alarms == 0 || st.Alarm {
		t.Fatalf("%d sheds, stats %+v", sheds, st)
	}
	if n := alarmAt - grownAt; n > 6 { // the one running when it grew, and five more
		t.Errorf("alarm after %d collections", n)
	}
}

func TestWatchdogCutsLongSections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 100*mb)
		c := control(t, Config{Mode: Hybrid, MaxSection: time.Second}, f)
		defer c.Close()
		long := c.Pause()
		time.Sleep(950 * time.Millisecond)
		if _, _, cycles, _ := f.state(); cycles != 0 {
			t.Fatal("a collection started in a section")
		}
		time.Sleep(2 * time.Second)
		_, _, cycles, _ := f.state()
		if st := c.Stats(); st.Cut != 1 || st.Open != 1 || cycles == 0 {
			t.Fatalf("%d collections, stats %+v", cycles, st)
		}
		long.End()
		mustPanic(t, "already ended", long.End)
		if st := c.Stats(); st.Open != 0 {
			t.Fatalf("%d open", st.Open)
		}
	})
}

func TestWatchdogCutsWhenMemoryNearsTheBudget(t *testing.T) {
	for _, mode := range []Mode{Default, Off, Hybrid, Idle, Adaptive, Percent(300)} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(50*mb, 500*mb)
				var cuts int
				c := control(t, Config{Mode: mode, LimitBytes: 600 * mb, MaxSection: time.Hour, OnEvent: func(e Event) {
					if e.Kind == EventCut {
						cuts++
					}
				}}, f)
				defer c.Close()
				for range 20 {
					s := c.Pause()
					time.Sleep(1700 * time.Millisecond)
					s.End()
				}
				st := c.Stats()
				c.Close()
				if _, _, _, peak := f.state(); peak > 600*mb || st.Watchdog < 10 || cuts < 10 || st.Cut < 10 {
					t.Errorf("peak %.0f MB, %d events, stats %+v", peak/mb, cuts, st)
				}
			})
		})
	}
}

// TestOverlappingSectionsEndByTime: sections of two goroutines overlap forever,
// without a budget.
func TestOverlappingSectionsEndByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 500*mb)
		c := control(t, Config{Mode: Hybrid}, f)
		defer c.Close()
		s := c.Pause()
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			next := c.Pause()
			s.End()
			s = next
		}
		s.End()
		if _, _, cycles, peak := f.state(); cycles < 5 || peak > 1200*mb {
			t.Errorf("%d collections in 10 s, peak %.0f MB", cycles, peak/mb)
		}
	})
}

// TestSectionsHold: in every mode sections hold collections back, and Close
// restores the settings.
func TestSectionsHold(t *testing.T) {
	for _, mode := range []Mode{Default, Hybrid, Idle, Adaptive, Percent(300)} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(50*mb, 500*mb)
				c := control(t, Config{Mode: mode, LimitBytes: 2000 * mb}, f)
				time.Sleep(5 * time.Second)
				for range 100 {
					s := c.Pause()
					time.Sleep(5 * time.Millisecond) // the controller has run
					before, _, start := f.collections()
					time.Sleep(150 * time.Millisecond)
					if after, _, now := f.collections(); now != start || after != before {
						t.Error("a collection started in a section")
					}
					s.End()
					time.Sleep(10 * time.Millisecond)
				}
				st := c.Stats()
				if st.Scheduled == 0 || st.Cut != 0 || st.Begun != 100 || !st.Holding {
					t.Errorf("stats %+v", st)
				}
				time.Sleep(3 * time.Second)
				if percent, _, _, _ := f.state(); mode != Hybrid && percent < 0 {
					t.Error("GOGC is still off seconds after the last section")
				}
				c.Close()
				if percent, limit, _, _ := f.state(); percent != 100 || limit != 1<<63-1 {
					t.Errorf("closed: GOGC %d, limit %d", percent, limit)
				}
			})
		})
	}
}

func TestHybridCollectsByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, mb)
		c := control(t, Config{Mode: Hybrid, Interval: time.Second}, f)
		defer c.Close()
		time.Sleep(20*time.Second + 500*time.Millisecond)
		if st := c.Stats(); st.Scheduled < 15 || st.Scheduled > 21 {
			t.Errorf("%d collections in 20 s", st.Scheduled)
		}
	})
}

func TestIdleCollectsInGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 0)
		busy := false // under f.mu
		f.rate = func(time.Duration) float64 {
			if busy {
				return 500 * mb
			}
			return 0
		}
		set := func(b bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.advance()
			busy = b
		}
		c := control(t, Config{Mode: Idle}, f)
		defer c.Close()
		var started int
		for range 300 {
			set(true)
			time.Sleep(20 * time.Millisecond)
			set(false)
			if c.Idle(80 * time.Millisecond) {
				started++
			}
			time.Sleep(80 * time.Millisecond)
		}
		st := c.Stats()
		_, automatic, _ := f.collections()
		if _, _, _, peak := f.state(); st.Idle < 20 || int(st.Idle) != started || automatic > st.Idle/10+2 || peak > 130*mb {
			t.Errorf("%d of %d collections in gaps, %d asked for, %d forced by the goal, peak %.0f MB", st.Idle, st.Cycles, started, automatic, peak/mb)
		}
		s := c.Pause()
		if c.Idle(0) {
			t.Error("a collection started in a section")
		}
		s.End()
	})
}

func TestForceWaitsForSections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, mb)
		c := control(t, Config{Mode: Hybrid, MaxSection: time.Hour}, f)
		s := c.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Force(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 sections open") {
			t.Fatal(err)
		}
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- c.Force(t.Context()) }()
		}
		time.Sleep(time.Second)
		if n, _, _ := f.collections(); n != 0 {
			t.Fatal("collected in a section")
		}
		s.End()
		for range 3 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if n, _, _ := f.collections(); n != 1 || c.Stats().Forced != 1 { // one serves all callers
			t.Errorf("stats %+v, %d collections", c.Stats(), n)
		}
		s = c.Pause()
		go func() { done <- c.Force(t.Context()) }()
		synctest.Wait()
		c.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		s.End()
		if err := c.Force(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// In mode Off the heap would grow without end once someone has removed the limit.
func TestOffFallsBackWithoutABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 100*mb)
		f.setLimit(500 * mb)
		c := control(t, Config{Mode: Off}, f)
		time.Sleep(time.Second)
		if percent, _, _, _ := f.state(); percent != -1 {
			t.Errorf("in mode off: GOGC %d", percent)
		}
		f.setLimit(math.MaxInt64)
		time.Sleep(time.Minute)
		if percent, _, _, peak := f.state(); percent != 100 || peak > 500*mb || !c.Stats().Fallback || c.Mode() != Default {
			t.Errorf("without a limit: GOGC %d, up to %v bytes, %+v", percent, peak, c.Stats())
		}
		f.setLimit(500 * mb)
		time.Sleep(time.Second)
		if err := c.SetMode(Off); err != nil {
			t.Error(err)
		}
		f.setLimit(math.MaxInt64) // before the controller has adopted the mode
		time.Sleep(time.Second)
		if percent, _, _, _ := f.state(); percent != 100 {
			t.Errorf("again without a limit: GOGC %d", percent)
		}
		c.Close()
	})
}

func TestForeignChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, mb)
		var events []string
		c := control(t, Config{Mode: Percent(300), OnEvent: func(e Event) {
			if e.Kind == EventForeignChange {
				events = append(events, e.Message)
			}
		}}, f)
		f.setPercent(70)
		f.setLimit(500 * mb)
		time.Sleep(2 * time.Second)
		percent, limit, _, _ := f.state()
		synctest.Wait()
		if st := c.Stats(); len(events) != 2 || percent != 300 || limit != 500*mb || st.BudgetBytes != 500*mb || st.FoundPercent != 70 {
			t.Errorf("events %q, GOGC %d, limit %d, stats %+v", events, percent, limit, st)
		}
		f.setPercent(80) // too late for the controller to notice
		c.Close()
		if percent, limit, _, _ := f.state(); percent != 80 || limit != 500*mb {
			t.Errorf("closed: GOGC %d, limit %d", percent, limit)
		}
	})
}

func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 500*mb)
		var self atomic.Pointer[Controller]
		c := control(t, Config{Mode: Hybrid, LimitBytes: 800 * mb, MaxSection: time.Hour, OnEvent: func(e Event) {
			if e.Kind == EventCut {
				self.Load().Fallback() // automatic
			}
		}}, f)
		self.Store(c)
		defer c.Close()
		s := c.Pause()
		time.Sleep(10 * time.Second)
		percent, limit, cycles, _ := f.state()
		if st := c.Stats(); percent != 100 || limit != 800*mb || !st.Fallback || c.Mode() != Default || cycles < 10 {
			t.Errorf("GOGC %d, limit %d, %d collections, stats %+v", percent, limit, cycles, st)
		}
		s.End()
		if err := c.SetMode(Hybrid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if percent, _, _, _ := f.state(); percent != -1 || c.Stats().Fallback {
			t.Errorf("GOGC %d after SetMode", percent)
		}
	})
}

// TestTimeToLimitAtRest: a live heap that has filled up and rests approaches no
// limit, though no collection follows that would say so.
func TestTimeToLimitAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 0)
		f.live = constant(500 * mb)
		f.rate = func(at time.Duration) float64 {
			if at < 4*time.Second {
				return 100 * mb
			}
			return 1
		}
		c := control(t, Config{LimitBytes: 1000 * mb}, f)
		defer c.Close()
		time.Sleep(4 * time.Second)
		filling := c.Stats()
		if filling.Cycles == 0 || filling.TimeToLimit < 0 || filling.TimeToLimit > time.Minute {
			t.Errorf("while it fills: %+v", filling)
		}
		time.Sleep(time.Minute)
		if st := c.Stats(); st.TimeToLimit >= 0 && st.TimeToLimit < time.Minute {
			t.Errorf("a minute later: %+v", st)
		}
	})
}

// TestTimeToLimitOfSteadyLoad: a live heap that varies by a tenth from collection
// to collection does not approach the limit.
func TestTimeToLimitOfSteadyLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 500*mb)
		f.noise = rand.New(rand.NewPCG(1, 2))
		c := control(t, Config{LimitBytes: 300 * mb}, f)
		defer c.Close()
		time.Sleep(20 * time.Second)
		near := 0
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if left := c.Stats().TimeToLimit; left >= 0 && left < time.Minute {
				near++
			}
		}
		if near > 0 {
			t.Errorf("near the limit in %d of 600 tenths of a second", near)
		}
	})
}

// TestTimeToLimitInSections: a section brings the limit nearer once it holds a
// collection back, and not before.
func TestTimeToLimitInSections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(50*mb, 100*mb)
		c := control(t, Config{LimitBytes: 1000 * mb, MaxSection: time.Hour}, f)
		defer c.Close()
		time.Sleep(5 * time.Second)
		near := 0
		for range 1000 {
			s := c.Pause()
			time.Sleep(3 * time.Millisecond)
			if left := c.Stats().TimeToLimit; left >= 0 && left < time.Minute {
				near++
			}
			s.End()
			time.Sleep(3 * time.Millisecond)
		}
		if near > 50 { // one in each cycle may do so
			t.Errorf("near the limit in %d of 1000 short sections", near)
		}
		s := c.Pause()
		time.Sleep(3 * time.Second)
		if left := c.Stats().TimeToLimit; left < 0 || left > 10*time.Second {
			t.Errorf("%v to the limit while a section holds a collection back", left)
		}
		s.End()
	})
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); !strings.HasPrefix(got, "gcctl: ") || !strings.Contains(got, want) {
			t.Errorf("panic %q, want one with %q", got, want)
		}
	}()
	f()
}

// TestEventKinds: an unknown kind is a number, as one of a newer version may be.
func TestEventKinds(t *testing.T) {
	if got := EventFallback.String() + ", " + EventKind(77).String(); got != "fallback, EventKind(77)" {
		t.Error(got)
	}
}
