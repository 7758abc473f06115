package coherence

import (
	"math"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/puzpuzpuz/xsync/v4"

	"github.com/isobar-go/isobar/bench/internal/steps"
	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/latency"
	"github.com/isobar-go/isobar/pool"
	isobar "github.com/isobar-go/isobar/queue"
)

// values is how many operations are traced, beside one before.
const values = 32

// real is what a subject stands for: values pushed and values taken, or values
// rounds, by one goroutine. take is nil where another goroutine takes.
func (s Subject) real() (push, take func()) {
	x := new(int)
	out := make([]*int, values)
	each := func(f func()) func() {
		f() // what is made at first
		return func() {
			for range values {
				f()
			}
		}
	}
	drain := func(f func([]*int) int) func() {
		return func() {
			for n := 0; n < values; {
				n += f(out[:min(256, values-n)])
			}
		}
	}
	switch s.Bench + " " + s.Impl {
	case mpscBench + " isobar":
		q := isobar.NewMPSC[*int](isobar.MPSCConfig{})
		return each(func() { q.Push(x) }), drain(q.Drain)
	case mpscBench + " isobar-ring":
		q := isobar.NewMPSCRing[*int](window)
		return each(func() { q.Push(x) }), drain(q.Drain)
	case mpscBench + " xsync-mpmc":
		q := xsync.NewMPMCQueue[*int](window)
		return each(func() { q.TryEnqueue(x) }), each(func() { q.TryDequeue() })
	case mpscBench + " xsync-umpsc":
		q := xsync.NewUMPSCQueue[*int]()
		return each(func() { q.Enqueue(x) }), each(func() { q.Dequeue() })
	case mpscBench + " mutex-slice":
		var mu sync.Mutex
		in := make([]*int, 0, values+1)
		return each(func() {
				mu.Lock()
				in = append(in, x)
				mu.Unlock()
			}), func() {
				mu.Lock()
				in, out = out[:0], in
				mu.Unlock()
			}
	case mpscBench + " channel", spscBench + " channel", submitBench + " channel":
		c := make(chan *int, window)
		return each(func() { c <- x }), each(func() { <-c })
	case spscBench + " isobar":
		q := isobar.NewSPSCRing[*int](window)
		return each(func() { q.Push(x) }), drain(q.Drain)
	case submitBench + " isobar":
		l, err := eventloop.New(eventloop.Config{}) // it does not run
		if err != nil {
			panic(err)
		}
		task := eventloop.Task(nothing{})
		return each(func() { _ = l.SubmitTask(task) }), nil
	case "pool.Retaining/burst=1 isobar":
		p := pool.New(pool.Config[int]{Kind: pool.Retaining})
		return each(func() { p.Put(p.Get()) }), nil
	case "pool.Bounded/burst=1 isobar":
		p := pool.New(pool.Config[int]{Kind: pool.Bounded, Limit: 2})
		return each(func() { p.Put(p.Get()) }), nil
	case "pool.Retaining/burst=1 syncpool", "pool.Bounded/burst=1 syncpool":
		p := sync.Pool{New: func() any { return new(int) }}
		return each(func() { p.Put(p.Get()) }), nil
	case "pool.Bounded/burst=1 channel":
		c := make(chan *int, 1)
		c <- x
		return each(func() { c <- <-c }), nil
	case "pool.Bounded/burst=1 xsync":
		q := xsync.NewMPMCQueue[*int](2)
		q.TryEnqueue(x)
		return each(func() { y, _ := q.TryDequeue(); q.TryEnqueue(y) }), nil
	case "recorder.RecordParallel isobar":
		r := latency.NewRecorder()
		for range 1 << 14 { // the first values are kept exactly
			r.Record(time.Millisecond)
		}
		return each(func() { r.Record(time.Millisecond) }), nil
	case "recorder.RecordParallel hdrhistogram-go-mutex":
		var mu sync.Mutex
		h := hdr.New(1, int64(time.Hour), 3)
		return each(func() {
			mu.Lock()
			_ = h.RecordValue(1000)
			mu.Unlock()
		}), nil
	}
	panic("no structure for " + s.Bench + " " + s.Impl)
}

type nothing struct{}

func (nothing) Run() {}

// simulated counts the locked instructions that the model executes for the same.
func (s Subject) simulated() (push, take int) {
	m := NewMachine(Costs{}, 1)
	c := m.cpus[0]
	if s.round != nil {
		r := s.round(m)
		m.Run(func(c *CPU) {
			r(c, Work{}) // fills what is empty at first
			c.locked = 0
			for range values {
				r(c, Work{})
			}
		})
		return c.locked, 0
	}
	q := s.queue(m)
	m.Run(func(c *CPU) {
		q.push(c, 0)
		c.locked = 0
		for range values {
			q.push(c, 0)
		}
		push = c.locked
		for n := 0; n < values; {
			n += q.take(c, min(256, values-n), 0)
		}
	})
	return push, c.locked - push
}

// TestLocked counts the locked instructions that the compiled structures execute,
// and compares them with those of the model.
func TestLocked(t *testing.T) {
	if testing.Short() {
		t.Skip("traces instruction by instruction")
	}
	for _, s := range Subjects {
		if s.apart {
			continue
		}
		t.Run(s.Bench+"/impl="+s.Impl, func(t *testing.T) {
			got, err := steps.Trace(s.Bench+" "+s.Impl, 2)
			if err != nil {
				t.Skip("cannot trace a process here: ", err)
			}
			push, take := s.simulated()
			if _, real := s.real(); real == nil {
				got[1].Locked, take = 0, 0 // by another goroutine
			}
			for k, want := range []int{push, take} {
				if diff := math.Abs(float64(got[k].Locked - want)); diff > 2 {
					t.Errorf("%s: %d locked instructions for %d values, the model has %d",
						[]string{"push", "take"}[k], got[k].Locked, values, want)
				}
			}
			t.Logf("push %.2f, take %.2f locked instructions a value", float64(got[0].Locked)/values, float64(got[1].Locked)/values)
		})
	}
}

func init() {
	programs := steps.Programs{}
	for _, s := range Subjects {
		programs[s.Bench+" "+s.Impl] = func() []func() {
			push, take := s.real()
			if take == nil {
				take = func() {}
			}
			return []func(){push, take}
		}
	}
	steps.Serve(programs)
}
