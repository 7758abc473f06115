package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/eventloop"
)

// A hybridLoop processes the ticks of a hybrid on an event loop. The goroutine
// that submitted a tick waits for it, so only one of the two uses hybrid's
// fields at a time.
type hybridLoop struct {
	hybrid *hybrid
	loop   *eventloop.Loop
	end    chan error
	sum    uint64        // sum of the tick, for the goroutine that submitted it
	done   chan struct{} // hands sum back
	due    time.Duration // owned by the loop: when the next tick is due
}

func startHybridLoop(h *hybrid) (*hybridLoop, error) {
	t := &hybridLoop{hybrid: h, end: make(chan error, 1), done: make(chan struct{}, 1)}
	config := eventloop.Config{}
	if h.ctl != nil {
		config.Idle = t.idle
	}
	var err error
	if t.loop, err = eventloop.New(config); err != nil {
		return nil, err
	}
	go func() { t.end <- t.loop.Run(context.Background()) }()
	return t, nil
}

// idle runs on the loop. The loop has no timers, so it is idle until the next
// tick.
func (t *hybridLoop) idle(time.Duration) bool {
	if t.due > 0 {
		t.hybrid.tellIdle(t.due)
	}
	return false
}

// Run processes a tick on the loop.
func (t *hybridLoop) Run() {
	h := t.hybrid
	t.due = h.due(h.count) // count includes the current tick
	t.sum = h.process()
	t.done <- struct{}{}
}

// do processes a tick on the loop and waits for it.
func (t *hybridLoop) do() uint64 {
	if err := t.loop.SubmitTask(t); err != nil {
		panic(fmt.Sprintf("workload: hybrid: %v", err))
	}
	<-t.done
	return t.sum
}

// close ends the loop if there is one.
func (t *hybridLoop) close() error {
	if t == nil {
		return nil
	}
	if err := t.loop.Shutdown(context.Background()); err != nil {
		return err
	}
	return <-t.end
}
