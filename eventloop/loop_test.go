package eventloop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/latency"
)

func mustNew(tb testing.TB, c Config) *Loop {
	tb.Helper()
	l, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// drained runs what f submits and sets up on a fresh loop until everything is
// done.
func drained(tb testing.TB, c Config, f func(l *Loop)) *Loop {
	tb.Helper()
	l := mustNew(tb, c)
	startLoop(tb, l)
	f(l)
	if err := l.Shutdown(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return l
}

func TestMisuse(t *testing.T) {
	nop := func() {}
	onLoop := func(f func(l *Loop) error) func(*testing.T) error {
		return func(t *testing.T) (err error) {
			drained(t, Config{}, func(l *Loop) { l.Submit(func() { err = f(l) }) })
			return err
		}
	}
	closed := func(f func(l *Loop) error) func(*testing.T) error {
		return func(t *testing.T) error { return f(drained(t, Config{Limit: 5}, func(*Loop) {})) }
	}
	fresh := func(c Config, f func(l *Loop) error) func(*testing.T) error {
		return func(t *testing.T) error { return f(mustNew(t, c)) }
	}
	for _, test := range []struct {
		name string
		do   func(*testing.T) error
		want error
	}{
		{"negative limit", func(*testing.T) error { _, err := New(Config{Limit: -1}); return err }, ErrConfig},
		{"nil function", fresh(Config{}, func(l *Loop) error { return l.Submit(nil) }), ErrNilTask},
		{"nil task", fresh(Config{}, func(l *Loop) error { return l.SubmitTask(nil) }), ErrNilTask},
		{"nil in batch", fresh(Config{}, func(l *Loop) error { return l.SubmitBatch([]Task{call(nop), nil}) }), ErrNilTask},
		{"nil wait", fresh(Config{}, func(l *Loop) error { return l.SubmitWait(context.Background(), nil) }), ErrNilTask},
		{"nil timer", fresh(Config{}, func(l *Loop) error { _, err := l.After(0, nil); return err }), ErrNilTask},
		{"no interval", fresh(Config{}, func(l *Loop) error { _, err := l.Every(0, nop); return err }), ErrInterval},
		{"submit after shutdown", closed(func(l *Loop) error { return l.Submit(nop) }), ErrClosed},
		{"batch after shutdown", closed(func(l *Loop) error { return l.SubmitBatch([]Task{call(nop)}) }), ErrClosed},
		{"wait after shutdown", closed(func(l *Loop) error { return l.SubmitWait(context.Background(), call(nop)) }), ErrClosed},
		{"timer after shutdown", closed(func(l *Loop) error { _, err := l.After(0, nop); return err }), ErrClosed},
		{"interval after shutdown", closed(func(l *Loop) error { _, err := l.Every(1, nop); return err }), ErrClosed},
		{"run after shutdown", closed(func(l *Loop) error { return l.Run(context.Background()) }), ErrClosed},
		{"close after shutdown", closed(func(l *Loop) error { _, err := l.Close(); return err }), ErrClosed},
		{"shutdown twice", closed(func(l *Loop) error { return l.Shutdown(context.Background()) }), nil},
		{"shutdown after close", fresh(Config{}, func(l *Loop) error { l.Close(); return l.Shutdown(context.Background()) }), ErrClosed},
		{"run twice", func(t *testing.T) error {
			l := mustNew(t, Config{})
			startLoop(t, l)
			return l.Run(context.Background())
		}, ErrRunning},
		{"run from a task", onLoop(func(l *Loop) error { return l.Run(context.Background()) }), ErrReentrant},
		{"await from a task", onLoop(func(l *Loop) error {
			_, err := Resolved(l, 1).Await(context.Background())
			return err
		}), ErrReentrant},
		{"shutdown from a task", onLoop(func(l *Loop) error { return l.Shutdown(context.Background()) }), nil},
		{"full", fresh(Config{Limit: 2}, func(l *Loop) error {
			return errors.Join(l.Submit(nop), l.Submit(nop), l.Submit(nop))
		}), ErrFull},
		{"batch beyond the limit", fresh(Config{Limit: 1}, func(l *Loop) error { return l.SubmitBatch([]Task{call(nop), call(nop)}) }), ErrFull},
		{"wait on the loop", func(t *testing.T) (err error) {
			drained(t, Config{Limit: 1}, func(l *Loop) {
				done := make(chan struct{})
				l.Submit(func() {
					l.Submit(nop)
					err = l.SubmitWait(context.Background(), call(nop))
					close(done)
				})
				<-done
			})
			return err
		}, ErrReentrant},
		{"shutdown ends with its context", fresh(Config{}, func(l *Loop) error {
			l.Submit(nop)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return l.Shutdown(ctx)
		}), context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.do(t)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "eventloop: ") {
				t.Errorf("%q does not say where it comes from", err)
			}
		})
	}
	if (Timer{}).Cancel() || (Timer{}).Missed() != 0 {
		t.Error("the zero Timer is pending")
	}
	for name, f := range map[string]func(*Loop, func()){"NextTick": (*Loop).NextTick, "QueueMicrotask": (*Loop).QueueMicrotask} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, ErrNilTask) {
					t.Errorf("%s(nil): recovered %v", name, err)
				}
			}()
			f(mustNew(t, Config{}), nil)
		}()
	}
}

func TestLoopOnlyCallsAreChecked(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs a debug or race build")
	}
	l := mustNew(t, Config{})
	l.QueueMicrotask(func() {}) // nobody runs it yet
	startLoop(t, l)
	defer func() {
		if recover() == nil {
			t.Error("QueueMicrotask beside a running loop did not panic")
		}
	}()
	l.QueueMicrotask(func() {})
}

func TestPanicsAndGoexitAreContained(t *testing.T) {
	for _, in := range ingresses {
		t.Run(in.name, func(t *testing.T) {
			var values []any
			l := newLoop(Config{OnPanic: func(v any, stack []byte) {
				values = append(values, v)
				if len(stack) == 0 {
					t.Error("no stack")
				}
				panic("a hook that panics")
			}}, in.make())
			returned := make(chan bool)
			go func() {
				ok := false
				defer func() { returned <- ok }()
				l.Run(context.Background())
				ok = true
			}()
			var order []string
			say := func(s string) func() { return func() { order = append(order, s) } }
			l.Submit(func() {
				l.QueueMicrotask(func() { say("micro")(); panic("in micro") })
				l.QueueMicrotask(say("micro 2"))
				l.NextTick(func() { say("tick")(); panic("in tick") })
				panic("in task")
			})
			l.Submit(say("task"))
			for range 100 {
				l.Submit(runtime.Goexit)
			}
			fired := make(chan struct{})
			l.Submit(func() {
				l.After(0, func() { defer close(fired); runtime.Goexit() })
			})
			<-fired
			l.Submit(say("end"))
			if err := l.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if <-returned {
				t.Error("Run returned on a goroutine that was to exit")
			}
			if want := []string{"tick", "micro", "micro 2", "task", "end"}; !slices.Equal(order, want) {
				t.Errorf("ran %v, want %v", order, want)
			}
			if len(values) != 104 || values[0] != "in task" || values[1] != "in tick" || values[2] != "in micro" {
				t.Fatalf("%d reports: %v", len(values), values)
			}
			if err, _ := values[3].(error); !errors.Is(err, ErrGoexit) {
				t.Errorf("reported %v for Goexit", values[3])
			}
			if s := l.Stats(); s.Panics != 104 || s.Tasks != 104 || s.Queued != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestRunEndsWithItsContextAndGoesOn(t *testing.T) {
	l := mustNew(t, Config{})
	cause := errors.New("enough")
	ran := 0
	for round := range 50 {
		ctx, cancel := context.WithCancelCause(context.Background())
		for range 3 {
			l.Submit(func() { ran++ })
		}
		l.Submit(func() {
			ran++
			l.NextTick(func() { ran++ })
			cancel(cause)
			for l.signals.Load()&stopRun == 0 {
				runtime.Gosched()
			}
		})
		l.Submit(func() { ran++ }) // for the next Run
		if err := l.Run(ctx); err != cause {
			t.Fatalf("round %d: Run: %v", round, err)
		}
	}
	if want := 49*6 + 4; ran != want {
		t.Errorf("ran %d before the last Run, want %d", ran, want)
	}
	go l.Shutdown(context.Background())
	if err := l.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := 50 * 6; ran != want {
		t.Errorf("ran %d in all, want %d", ran, want)
	}
}

func TestCloseSaysHowManyItDropped(t *testing.T) {
	l := mustNew(t, Config{})
	for range 10 {
		l.Submit(func() { t.Error("dropped and run") })
	}
	if n, err := l.Close(); n != 10 || err != nil {
		t.Errorf("idle: Close() = %d, %v; want 10", n, err)
	}
	l = mustNew(t, Config{})
	ran, dropped := 0, -1
	for i := range 1000 {
		l.Submit(func() {
			ran++
			if i == 500 {
				dropped, _ = l.Close()
			}
		})
	}
	if err := l.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if ran != 501 || dropped != 499 {
		t.Errorf("from a task: ran %d, dropped %d", ran, dropped)
	}
	for range 50 { // beside producers and a Shutdown that waits
		l := mustNew(t, Config{})
		startLoop(t, l)
		var accepted, run atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for l.Submit(func() { run.Add(1) }) == nil {
					accepted.Add(1)
				}
			})
		}
		time.Sleep(50 * time.Microsecond)
		n, err := l.Close()
		wg.Wait()
		if err != nil || int64(n) != accepted.Load()-run.Load() {
			t.Fatalf("Close() = %d, %v; accepted %d, run %d", n, err, accepted.Load(), run.Load())
		}
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Limit: 3})
		var order []int
		put := func(i int) call { return func() { order = append(order, i) } }
		for i := range 3 {
			if err := l.SubmitTask(put(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := 3; i < 6; i++ {
			go func() {
				if err := l.SubmitWait(context.Background(), put(i)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan error)
		go func() { gone <- l.SubmitWait(ctx, put(-1)) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("SubmitWait: %v", err)
		}
		end := make(chan error)
		go func() { end <- l.Run(context.Background()) }()
		synctest.Wait()
		slices.Sort(order[3:]) // places are granted in order; after that the scheduler decides
		if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
			t.Errorf("ran %v, want %v", order, want)
		}
		stuck := make(chan struct{})
		l.Submit(func() { <-stuck })
		synctest.Wait()
		for range 3 {
			l.Submit(func() {})
		}
		if err := l.Submit(func() {}); !errors.Is(err, ErrFull) {
			t.Errorf("full: %v", err)
		}
		go func() { gone <- l.SubmitWait(context.Background(), put(-2)) }()
		synctest.Wait()
		go l.Shutdown(context.Background())
		synctest.Wait()
		if err := <-gone; !errors.Is(err, ErrClosed) {
			t.Errorf("SubmitWait at the end: %v", err)
		}
		if err := l.Submit(func() {}); !errors.Is(err, ErrClosed) {
			t.Errorf("full and closed: %v", err)
		}
		close(stuck)
		if err := <-end; err != nil || l.room.used.Load() != 0 {
			t.Errorf("Run: %v, %d places taken", err, l.room.used.Load())
		}
	})
}

// What Go and Await hand over takes a place and gives it back, also beyond the limit.
func TestLimitWithPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Limit: 2})
		end := make(chan error)
		go func() { end <- l.Run(context.Background()) }()
		stuck := make(chan struct{})
		l.Submit(func() { <-stuck })
		synctest.Wait()
		for range 5 {
			go Go(l, func() (int, error) { return 1, nil }).Await(context.Background())
		}
		synctest.Wait()
		if err := l.Submit(func() {}); !errors.Is(err, ErrFull) {
			t.Errorf("beside 10 waiting tasks: %v", err)
		}
		close(stuck)
		synctest.Wait()
		if n := l.room.used.Load(); n != 0 {
			t.Errorf("%d places taken by nothing", n)
		}
		l.Shutdown(context.Background())
		if err := <-end; err != nil {
			t.Error(err)
		}
		Go(l, func() (int, error) { return 1, nil })
		synctest.Wait()
		if n := l.room.used.Load(); n != 0 {
			t.Errorf("%d places taken after the end", n)
		}
	})
}

// Waiting producers all get their turn, and the limit of waiting tasks holds.
func TestLimitUnderLoad(t *testing.T) {
	l := mustNew(t, Config{Limit: 4})
	startLoop(t, l)
	ran := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if err := l.SubmitWait(context.Background(), call(func() { ran++ })); err != nil {
					t.Error(err)
				}
				if n := l.room.used.Load(); n > 4 {
					t.Errorf("%d wait", n)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Shutdown(context.Background()); err != nil || ran != 16000 {
		t.Errorf("%d ran, %v", ran, err)
	}
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	for _, in := range ingresses {
		l := newLoop(Config{Latency: latency.NewRecorder()}, in.make())
		startLoop(t, l)
		reply := make(chan struct{}, 1)
		p := &ping{reply}
		f := func() { reply <- struct{}{} }
		batch := []Task{new(tally), new(tally), p}
		for name, submit := range map[string]func(){
			"SubmitTask":  func() { l.SubmitTask(p) },
			"Submit":      func() { l.Submit(f) },
			"SubmitBatch": func() { l.SubmitBatch(batch) },
			"SubmitWait":  func() { l.SubmitWait(context.Background(), p) },
		} {
			if n := testing.AllocsPerRun(2000, func() { submit(); <-reply }); n != 0 {
				t.Errorf("%s, %s: %v allocations", in.name, name, n)
			}
		}
	}
}

func TestIdleWakeLatencyAndStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expected []time.Duration
		rec := latency.NewRecorder()
		l := mustNew(t, Config{Latency: rec, Idle: func(d time.Duration) bool {
			expected = append(expected, d)
			if len(expected) == 4 {
				panic("in Idle")
			}
			return false
		}, OnPanic: func(any, []byte) {}})
		startLoop(t, l)
		synctest.Wait()
		l.After(time.Second, func() {}) // wakes the loop: it is the first timer
		synctest.Wait()
		l.After(time.Hour, func() {}) // does not wake it
		synctest.Wait()
		time.Sleep(2 * time.Second)
		l.Wake()
		synctest.Wait()
		if want := []time.Duration{0, time.Second, time.Hour - time.Second, time.Hour - 2*time.Second}; !slices.Equal(expected, want) {
			t.Errorf("Idle was called with %v, want %v", expected, want)
		}
		for range 10 {
			l.Submit(func() { time.Sleep(time.Millisecond) })
		}
		synctest.Wait()
		if s := l.Stats(); s.Queued == 0 {
			t.Errorf("no task waits: %+v", s)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s := l.Stats()
		if s.Tasks != 10 || s.Queued != 0 || s.Timers != 1 || s.Panics != 1 || s.Wakeups != 3 || s.Sleeps != 5 || s.Turns == 0 {
			t.Errorf("%+v", s)
		}
		if h := rec.Snapshot(); h.Count() != 10 || h.Max() != 9*time.Millisecond {
			t.Errorf("latency: %d values up to %v", h.Count(), h.Max())
		}
	})
}

func TestDefaultHooksReport(t *testing.T) {
	drained(t, Config{}, func(l *Loop) {
		l.Submit(func() {
			Rejected[int](l, errors.New("expected in the log of this test"))
			panic("expected in the log of this test")
		})
	})
}

// A zero Loop says so; it does not spin.
func TestZeroLoop(t *testing.T) {
	defer func() {
		if s := fmt.Sprint(recover()); !strings.Contains(s, "make it with New") {
			t.Errorf("panic %s", s)
		}
	}()
	new(Loop).Run(t.Context())
}
