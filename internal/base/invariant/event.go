package invariant

import (
	"fmt"
	"runtime"
	"time"
)

// An Event says where and when a program did what a later check may blame.
type Event struct {
	pc uintptr
	at time.Time
}

// Here records the time and the caller of the function that calls it.
func Here() Event {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return Event{pc: pc[0], at: time.Now()}
}

func (e Event) String() string {
	frame, _ := runtime.CallersFrames([]uintptr{e.pc}).Next()
	return fmt.Sprintf("at %s:%d (%s), %v ago", frame.File, frame.Line, frame.Function,
		time.Since(e.at).Round(time.Microsecond))
}
