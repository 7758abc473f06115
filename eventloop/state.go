package eventloop

import "fmt"

// A State is what a loop is doing.
type State uint8

const (
	Awake       State = iota // not running: Run may be called
	Running                  // Run is executing turns
	Sleeping                 // Run waits for work
	Terminating              // Shutdown or Close was called, and the loop has not ended
	Terminated               // ended for good
)

func (s State) String() string {
	if names := [...]string{"awake", "running", "sleeping", "terminating", "terminated"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// State returns the loop's state at some moment during the call. Any goroutine
// may call it; it takes no lock.
//
// A loop is Awake, then Running and Sleeping in turn, and Awake again when Run
// returns because its context has ended. After Shutdown or Close it is
// Terminating, and Terminated when Done is closed; these two never go back.
func (l *Loop) State() State {
	select {
	case <-l.done:
		return Terminated
	default:
	}
	switch {
	case l.signals.Load()&(drainAll|dropAll) != 0:
		return Terminating
	case l.runner.Load() == 0:
		return Awake
	case l.sleeper.Asleep():
		return Sleeping
	}
	return Running
}
