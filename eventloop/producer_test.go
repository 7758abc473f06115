package eventloop

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/isobar-go/isobar/internal/base/invariant"
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

// Everything from a closed producer runs, and then its lane is gone.
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

// A producer that submits while the loop is asleep wakes it once.
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
