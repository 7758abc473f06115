package ingress

import (
	"context"

	"github.com/isobar-go/isobar/eventloop"
)

func init() {
	// Eventloop.Loop through Submit and SubmitBatch, with all its features.
	Register("eventloop", func(c Config) (Loop, error) { return startEventLoop(c) })
}

// A real is the loop of package eventloop.
type real struct {
	loop    *eventloop.Loop
	end     chan error
	batches [][]eventloop.Task // the latest batch, by producer, which owns its own
}

// method makes a function a Task, for a batch.
type method func()

func (m method) Run() { m() }

func startEventLoop(c Config) (*real, error) {
	l, err := eventloop.New(eventloop.Config{})
	if err != nil {
		return nil, err
	}
	r := &real{loop: l, end: make(chan error, 1), batches: make([][]eventloop.Task, c.Producers)}
	go func() { r.end <- l.Run(context.Background()) }()
	return r, nil
}

func (r *real) Submit(_ int, t Task) { must(r.loop.Submit(t)) }

func (r *real) SubmitBatch(producer int, ts []Task) {
	must(r.loop.SubmitBatch(r.tasks(producer, ts)))
}

// tasks converts ts for the loop, in the producer's memory.
func (r *real) tasks(producer int, ts []Task) []eventloop.Task {
	b := r.batches[producer][:0]
	for _, t := range ts {
		b = append(b, method(t))
	}
	r.batches[producer] = b
	return b
}

// must panics if the loop refused a task: after Close, or because it was nil.
func must(err error) {
	if err != nil {
		panic("ingress: " + err.Error())
	}
}

func (r *real) Close() error {
	if err := r.loop.Shutdown(context.Background()); err != nil {
		return err
	}
	return <-r.end
}
