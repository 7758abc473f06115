package eventloop

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A submitter is a loop as the shutdown tests see it.
type submitter interface {
	Submit(f func()) error
	Run(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

// checkFirst decides in two steps, like the loop of the seed study: it checks
// that it is open, then takes a place in the queue. A task whose producer is
// between the two is lost.
type checkFirst struct {
	in     ingress
	closed atomic.Bool
	done   chan struct{}
	pause  func() // between the two steps, if not nil
}

func (l *checkFirst) Submit(f func()) error {
	if l.closed.Load() {
		return ErrClosed
	}
	if l.pause != nil {
		l.pause()
	}
	l.in.Push(call(f))
	return nil
}

func (l *checkFirst) Run(context.Context) error {
	defer close(l.done)
	var batch [64]Task
	for {
		closed := l.closed.Load()
		n := l.in.Drain(batch[:])
		for _, t := range batch[:n] {
			t.Run()
		}
		if n == 0 && closed {
			return nil
		}
		runtime.Gosched()
	}
}

func (l *checkFirst) Shutdown(context.Context) error {
	l.closed.Store(true)
	<-l.done
	return nil
}

// delaying holds one push, after it has been counted and before the loop can
// see its task, until held is closed.
type delaying struct {
	ingress
	arrived, held chan struct{}
	pushed        atomic.Uint64
}

func (d *delaying) Push(t Task) bool {
	d.pushed.Add(1)
	close(d.arrived)
	<-d.held
	return d.ingress.Push(t)
}

func (d *delaying) Close() uint64  { return d.pushed.Load() }
func (d *delaying) Pushed() uint64 { return d.pushed.Load() }

// lost submits a task whose producer is held up between the decision that the
// loop is open and the queue, shuts the loop down meanwhile, and reports
// whether the task was accepted but never ran. A loop that is to lose it ends
// without it; one that waits for it is given a moment to end.
func lost(t *testing.T, make func(ingress) submitter, in ingress, faulty bool) bool {
	d := &delaying{ingress: in, arrived: newSignal(), held: newSignal()}
	l := make(d)
	ended := newSignal()
	go func() { l.Run(context.Background()); close(ended) }()
	var ran atomic.Bool
	result := newError()
	go func() { result <- l.Submit(func() { ran.Store(true) }) }()
	<-d.arrived
	down := newError()
	go func() { down <- l.Shutdown(context.Background()) }()
	var moment <-chan time.Time
	if !faulty {
		moment = time.After(20 * time.Millisecond)
	}
	select {
	case <-ended: // without the task
	case <-moment:
	}
	close(d.held)
	err := <-result
	if err := <-down; err != nil {
		t.Error(err)
	}
	<-ended
	return err == nil && !ran.Load()
}

func newSignal() chan struct{} { return make(chan struct{}) }
func newError() chan error     { return make(chan error, 1) }

func TestShutdownWaitsForAProducerOnItsWay(t *testing.T) {
	for _, in := range ingresses {
		if lost(t, func(i ingress) submitter { return newLoop(Config{}, i) }, in.make(), false) {
			t.Errorf("%s: an accepted task was lost", in.name)
		}
		if !lost(t, func(i ingress) submitter { return &checkFirst{in: i, done: newSignal()} }, in.make(), true) {
			t.Errorf("%s: the test misses the lost task of a loop that checks first", in.name)
		}
	}
}

// Every accepted task runs, however Shutdown interleaves with the producers,
// and after one refusal no submission succeeds.
func TestShutdownRace(t *testing.T) {
	rounds := 400
	if os.Getenv("ISOBAR_SOAK") != "" {
		rounds = 20000
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			raced := 0 // rounds in which Shutdown overlapped submissions
			for round := range rounds {
				l := newLoop(Config{}, way.make())
				end := newError()
				go func() { end <- l.Run(context.Background()) }()
				var accepted, ran atomic.Int64
				task := call(func() { ran.Add(1) })
				batch := []Task{task, task, task}
				var wg sync.WaitGroup
				for p := range 8 {
					to := way.to(l)
					wg.Go(func() {
						for refused := 0; refused < 3; {
							n, err := 1, error(nil)
							if p%2 == 0 {
								err = to.SubmitTask(task)
							} else {
								n, err = 3, to.SubmitBatch(batch)
							}
							switch {
							case err != nil:
								refused++
							case refused > 0:
								t.Error("accepted after a refusal")
							default:
								accepted.Add(int64(n))
							}
							runtime.Gosched()
						}
					})
				}
				for range round % 20 {
					runtime.Gosched()
				}
				if err := l.Shutdown(context.Background()); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				if err := <-end; err != nil && accepted.Load() > 0 {
					t.Fatal(err) // a loop may be closed before it first runs
				}
				if accepted.Load() != ran.Load() {
					t.Fatalf("round %d: %d accepted, %d run", round, accepted.Load(), ran.Load())
				}
				if accepted.Load() > 0 {
					raced++
				}
			}
			if t.Logf("%d of %d rounds", raced, rounds); raced < rounds/2 {
				t.Errorf("Shutdown overlapped submissions in %d of %d rounds", raced, rounds)
			}
		})
	}
}
