package eventloop

import (
	"context"
	"runtime"
	"testing"
)

// awaitState waits until the loop is in a state.
func awaitState(t *testing.T, l *Loop, want State) {
	t.Helper()
	for l.State() != want {
		if t.Context().Err() != nil {
			t.Fatalf("state %v, want %v", l.State(), want)
		}
		runtime.Gosched()
	}
}

func TestState(t *testing.T) {
	l, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.State(); got != Awake || l.Stats().State != Awake {
		t.Errorf("new: %v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	awaitState(t, l, Sleeping)
	inside, release := make(chan State), make(chan bool)
	task := func() { inside <- l.State(); <-release }
	if err := l.Submit(task); err != nil {
		t.Fatal(err)
	}
	if got := <-inside; got != Running {
		t.Errorf("in a task: %v", got)
	}
	release <- true
	awaitState(t, l, Sleeping)
	stop()
	<-ended
	if got := l.State(); got != Awake {
		t.Errorf("after Run: %v", got)
	}
	go func() { ended <- l.Run(t.Context()) }()
	if err := l.Submit(task); err != nil {
		t.Fatal(err)
	}
	<-inside
	shut := make(chan error)
	go func() { shut <- l.Shutdown(t.Context()) }()
	awaitState(t, l, Terminating)
	release <- true
	if err := <-shut; err != nil {
		t.Fatal(err)
	}
	if got := l.State(); got != Terminated || l.Stats().State != Terminated || got.String() != "terminated" {
		t.Errorf("after Shutdown: %v", got)
	}
	<-ended
	if got := State(9).String(); got != "State(9)" {
		t.Errorf("an unknown state: %s", got)
	}
}

// TestCloseTerminates: an idle loop that is closed goes straight to its end.
func TestCloseTerminates(t *testing.T) {
	l, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Close(); err != nil || l.State() != Terminated {
		t.Errorf("%v, %v", l.State(), err)
	}
}
