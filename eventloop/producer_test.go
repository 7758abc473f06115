package eventloop

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/isobar-go/isobar/internal/invariant"
)

func mustProducer(tb testing.TB, l *Loop) *Producer {
	tb.Helper()
	p, err := l.Producer()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestProducerMisuse(t *testing.T) {
	nop := call(func() {})
	l := mustNew(t, Config{Limit: 3})
	p, gone := mustProducer(t, l), mustProducer(t, l)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(name string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	check("nil function", p.Submit(nil), ErrNilTask)
	check("nil task", p.SubmitTask(nil), ErrNilTask)
	check("nil in batch", p.SubmitBatch([]Task{nop, nil}), ErrNilTask)
	check("closed", gone.Submit(nop), ErrProducer)
	check("closed, task", gone.SubmitTask(nop), ErrProducer)
	check("closed, batch", gone.SubmitBatch([]Task{nop}), ErrProducer)
	check("closed twice", gone.Close(), ErrProducer)
	check("batch beyond the limit", p.SubmitBatch([]Task{nop, nop, nop, nop}), ErrFull)
	check("room", errors.Join(p.Submit(nop), p.SubmitBatch([]Task{nop, nop})), nil)
	check("full", p.SubmitTask(nop), ErrFull)
	if n, err := l.Close(); n != 3 || err != nil {
		t.Errorf("Close = %d, %v; want the 3 tasks of the producer", n, err)
	}
	check("loop closed", p.Submit(nop), ErrClosed)
	check("loop closed, task", p.SubmitTask(nop), ErrClosed)
	check("loop closed, batch", p.SubmitBatch([]Task{nop}), ErrClosed)
	_, err := l.Producer()
	check("no more", err, ErrClosed)
	l = mustNew(t, Config{})
	p = mustProducer(t, l)
	l.Close()
	check("loop closed, no limit", p.SubmitTask(nop), ErrClosed)
	check("close after the loop", p.Close(), nil)
	check("both closed", p.Submit(nop), ErrProducer)
}

// Of a producer that is closed everything runs, and then nothing of it is left.
func TestProducerCloseReleasesItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		startLoop(t, l)
		ran := 0
		f := func() { ran++ }
		stay := mustProducer(t, l)
		for range 10 {
			p := mustProducer(t, l)
			for range 1000 {
				if err := p.Submit(f); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		stay.Submit(f)
		synctest.Wait()
		if s := l.lanes.Load(); ran != 10_001 || len(s.open) != 1 || s.retired != 10_000 || l.leaving.Load() != 0 {
			t.Errorf("%d ran, %d lanes open, %d tasks came over others, %d to leave", ran, len(s.open), s.retired, l.leaving.Load())
		}
		if s := l.Stats(); s.Queued != 0 || s.Tasks != 10_001 {
			t.Errorf("%+v", s)
		}
	})
}

// A producer that is used while the loop is asleep wakes it once.
func TestProducerWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{})
		startLoop(t, l)
		p := mustProducer(t, l)
		synctest.Wait()
		stuck := make(chan struct{})
		p.Submit(func() { <-stuck })
		synctest.Wait()
		for range 100 {
			p.Submit(func() {})
			l.Submit(func() {})
		}
		close(stuck)
		synctest.Wait()
		if s := l.Stats(); s.Tasks != 201 || s.Wakeups != 1 {
			t.Errorf("%d tasks and %d wake-ups, want 201 and 1", s.Tasks, s.Wakeups)
		}
	})
}

// However much one producer has submitted, the others get their share.
func TestProducersAreServedInRotation(t *testing.T) {
	for _, producers := range []int{1, 2, 40, 300} {
		l := mustNew(t, Config{})
		var order []int
		flood := func() { order = append(order, -1) }
		greedy := mustProducer(t, l)
		for range 100_000 {
			greedy.Submit(flood)
			l.Submit(flood)
		}
		for i := range producers {
			mustProducer(t, l).Submit(func() { order = append(order, i) })
		}
		go l.Run(context.Background())
		if err := l.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		last := 0
		for i := range producers {
			last = max(last, slices.Index(order, i))
		}
		if limit := 4 * max(batchLen, 8*producers); last > limit {
			t.Errorf("%d producers with a task each: the last ran after %d others, want at most %d", producers, last, limit)
		}
	}
}

func TestProducerDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	l := mustNew(t, Config{})
	startLoop(t, l)
	p, reply := mustProducer(t, l), make(chan struct{}, 1)
	task := &ping{reply}
	batch := slices.Repeat([]Task{new(tally)}, 100)
	if n := testing.AllocsPerRun(2000, func() {
		p.SubmitBatch(batch)
		p.SubmitTask(task)
		<-reply
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An event is a submission, or Shutdown, between two readings of a clock that
// all goroutines share.
type event struct {
	call, ret int64
	lane      int // submissions over the same lane have an order
	accepted  bool
	ran       int64 // which task of all it was, from 1; 0 if it did not run
}

// explain tells why a history cannot be that of a queue that is closed once:
// every task that was accepted runs once, those of a lane in an order in which
// they can have been submitted, and there is an instant during Shutdown that
// no refusal ends before and no acceptance begins after. It returns "" if it can.
func explain(history []event, shutdown event) string {
	firstRefusal, lastAccept := shutdown.ret, shutdown.call
	byLane := map[int][]event{}
	for _, e := range history {
		switch {
		case e.accepted != (e.ran != 0):
			return "accepted and not run, or run and refused"
		case e.accepted:
			lastAccept = max(lastAccept, e.call)
			byLane[e.lane] = append(byLane[e.lane], e)
		default:
			firstRefusal = min(firstRefusal, e.ret)
		}
	}
	if firstRefusal < lastAccept {
		return "accepted after a refusal or after Shutdown, or refused before Shutdown"
	}
	for _, events := range byLane {
		slices.SortFunc(events, func(a, b event) int { return int(a.ran - b.ran) })
		begun := int64(0) // the last call among those that ran before
		for _, e := range events {
			if e.ret < begun {
				return "run after one that was submitted after it had returned"
			}
			begun = max(begun, e.call)
		}
	}
	return ""
}

// record runs producers against a loop that is shut down meanwhile.
func record(t *testing.T, make func() submitter, to func(submitter, int) func(f func()) error, lanes func(int) int, pause int) ([]event, event) {
	const producers, each = 4, 40
	l := make()
	var clock, ran atomic.Int64
	histories := [producers][each]event{}
	ended := newError()
	go func() { ended <- l.Run(context.Background()) }()
	var wg sync.WaitGroup
	for p := range producers {
		submit := to(l, p)
		wg.Go(func() {
			for i := range each {
				e := &histories[p][i]
				e.lane = lanes(p)
				e.call = clock.Add(1)
				e.accepted = submit(func() { e.ran = ran.Add(1) }) == nil
				e.ret = clock.Add(1)
				if i%3 == p%3 {
					runtime.Gosched()
				}
			}
		})
	}
	for range pause {
		runtime.Gosched()
	}
	down := event{call: clock.Add(1)}
	if err := l.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	down.ret = clock.Add(1)
	wg.Wait()
	<-ended
	var all []event
	for p := range histories {
		all = append(all, histories[p][:]...)
	}
	return all, down
}

// TestSubmitAndShutdownAreLinearizable checks what happened in many rounds, by
// way into the loop; and that the check finds what a loop does wrong that
// first asks whether it is open.
func TestSubmitAndShutdownAreLinearizable(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			lanes := func(int) int { return 0 }
			if way.name == "handles" {
				lanes = func(p int) int { return p }
			}
			both := 0 // rounds with an acceptance and a refusal
			for round := range rounds {
				history, down := record(t,
					func() submitter { return newLoop(Config{}, way.make()) },
					func(l submitter, _ int) func(func()) error { return way.to(l.(*Loop)).Submit },
					lanes, round%30)
				if why := explain(history, down); why != "" {
					t.Fatalf("round %d: %s\n%+v\n%+v", round, why, down, history)
				}
				accepted := func(e event) bool { return e.accepted }
				refused := func(e event) bool { return !e.accepted }
				if slices.ContainsFunc(history, accepted) && slices.ContainsFunc(history, refused) {
					both++
				}
			}
			if t.Logf("%d of %d rounds", both, rounds); both < rounds/10 {
				t.Errorf("Shutdown fell among submissions in %d of %d rounds", both, rounds)
			}
		})
	}
	t.Run("fault=asks first", func(t *testing.T) {
		for round := range 50 * rounds {
			history, down := record(t,
				func() submitter {
					return &checkFirst{in: newLockFree(), done: newSignal(), pause: runtime.Gosched}
				},
				func(l submitter, _ int) func(func()) error { return l.Submit },
				func(int) int { return 0 }, round%30)
			if explain(history, down) != "" {
				return
			}
		}
		t.Error("no round shows the fault")
	})
}

func TestExplain(t *testing.T) {
	down := event{call: 10, ret: 20}
	for name, tc := range map[string]struct {
		history []event
		ok      bool
	}{
		"nothing":                   {nil, true},
		"fine":                      {[]event{{1, 2, 0, true, 1}, {11, 14, 0, true, 2}, {12, 13, 0, false, 0}, {21, 22, 0, false, 0}}, true},
		"lost":                      {[]event{{1, 2, 0, true, 0}}, false},
		"run though refused":        {[]event{{11, 12, 0, false, 1}}, false},
		"refused before":            {[]event{{1, 2, 0, false, 0}}, false},
		"accepted after":            {[]event{{21, 22, 0, true, 1}}, false},
		"accepted after a refusal":  {[]event{{11, 12, 0, false, 0}, {13, 14, 1, true, 1}}, false},
		"at the same time":          {[]event{{11, 14, 0, false, 0}, {13, 16, 1, true, 1}}, true},
		"out of order":              {[]event{{1, 2, 0, true, 2}, {3, 4, 0, true, 1}}, false},
		"out of order, other lanes": {[]event{{1, 2, 0, true, 2}, {3, 4, 1, true, 1}}, true},
	} {
		if why := explain(tc.history, down); (why == "") != tc.ok {
			t.Errorf("%s: %q", name, why)
		}
	}
}
