package eventloop

import (
	"errors"
	"fmt"
)

// Errors that callers may want to tell apart; returned errors wrap them.
var (
	ErrClosed    = errors.New("the loop is closed; make a new one")
	ErrProducer  = errors.New("the producer is closed; get another one from Loop.Producer")
	ErrRunning   = errors.New("the loop is running on another goroutine; run it once at a time")
	ErrReentrant = errors.New("called on the loop, which would deadlock; call it from another goroutine")
	ErrFull      = errors.New("Config.Limit tasks are waiting; retry later or use SubmitWait")
	ErrNilTask   = errors.New("the task is nil; pass a function or a Task")
	ErrInterval  = errors.New("the interval is not positive; use After for a single run")
	ErrConfig    = errors.New("a bound is negative; use 0 for none")
	ErrCycle     = errors.New("a promise would wait for itself; return another one")
	ErrOtherLoop = errors.New("the promise belongs to another loop; hand its value over with Submit")
	ErrNilReason = errors.New("rejected with a nil error; give a reason")
	ErrNoPromise = errors.New("none of the promises was fulfilled")
	ErrSettled   = errors.New("the promise was already resolved or rejected; only the first call counts")
	ErrGoexit    = errors.New("runtime.Goexit was called on the loop; return instead")
)

// A PanicError is a panic that became a rejection's reason.
type PanicError struct {
	Value any    // the value passed to panic
	Stack []byte // of the panic
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("eventloop: promise reaction: panic: %v", e.Value)
}

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func fail(operation string, err error) error {
	return fmt.Errorf("eventloop: %s: %w", operation, err)
}

// Made once, because a producer may meet them often.
var (
	errSubmitClosed = fail("Submit", ErrClosed)
	errProducer     = fail("Submit", ErrProducer)
	errSubmitFull   = fail("Submit", ErrFull)
	errSubmitNil    = fail("Submit", ErrNilTask)
	errResolve      = fail("resolve", ErrSettled)
	errReject       = fail("reject", ErrSettled)
	errReaction     = fail("promise reaction", ErrGoexit)
	errGo           = fail("Go", ErrGoexit)
)
