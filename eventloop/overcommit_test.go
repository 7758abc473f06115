package eventloop

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/overcommit"
)

// Throughput and round trips do not collapse with more Ps than CPUs.
func TestMorePsThanCPUs(t *testing.T) {
	channel := make(chan func(), window)
	defer close(channel)
	go func() {
		for f := range channel {
			f()
		}
	}()
	plain := func() (submission, func()) {
		return func(f func()) error { channel <- f; return nil }, func() {}
	}
	for _, way := range ways {
		l := newLoop(Config{}, way.make())
		startLoop(t, l)
		ours := func() (submission, func()) {
			to := way.to(l)
			if p, ok := to.(*Producer); ok {
				return p.Submit, func() { p.Close() }
			}
			return to.Submit, func() {}
		}
		overcommit.Check(t, way.name+": Submit", oneWay(t, ours), oneWay(t, plain))
		overcommit.Check(t, way.name+": a round trip", roundTrips(t, ours), roundTrips(t, plain))
	}
}

type submission func(func()) error

// oneWay counts the tasks that ran.
func oneWay(t *testing.T, open func() (submission, func())) overcommit.Worker {
	return func(_ int, ran *atomic.Int64, over *atomic.Bool) {
		submit, end := open()
		defer end()
		for n := int64(0); !over.Load(); n++ {
			if err := submit(func() { ran.Add(1) }); err != nil {
				t.Error(err)
			}
			for n-ran.Load() > window && !over.Load() {
				runtime.Gosched()
			}
		}
	}
}

// roundTrips waits for each task.
func roundTrips(t *testing.T, open func() (submission, func())) overcommit.Worker {
	return func(_ int, trips *atomic.Int64, over *atomic.Bool) {
		submit, end := open()
		defer end()
		back := make(chan struct{}, 1)
		for ; !over.Load(); trips.Add(1) {
			if err := submit(func() { back <- struct{}{} }); err != nil {
				t.Error(err)
			}
			<-back
		}
	}
}
