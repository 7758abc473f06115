package http11

import (
	"sync/atomic"
	"time"
)

// idleAfter is how long a server has nothing to do before it says so. Between
// the requests of a burst it is idle for a moment, again and again: a collection
// that begins there meets the next request.
const idleAfter = 2 * time.Millisecond

// idleness tells Server.Idle that no request has been in progress for
// idleAfter. It is used when Idle is set.
type idleness struct {
	// active counts connections with a request in progress. It publishes nothing.
	active atomic.Int64
	// since is when active became 0, in nanoseconds since the first time. It is
	// written by whoever made it so, and read by the timer.
	since atomic.Int64
	// armed says that the timer runs. Who sets it starts the timer; the timer
	// clears it.
	armed atomic.Bool
	start time.Time   // set before there are connections
	timer *time.Timer // set before there are connections
}

func (s *Server) initIdle() {
	s.idle.start = time.Now()
	s.idle.timer = time.AfterFunc(time.Hour, s.looked)
	s.idle.timer.Stop()
}

// enter begins work.
func (s *Server) enter() { s.idle.active.Add(1) }

// leave ends work. With more, it will go on soon.
func (s *Server) leave(more bool) {
	i := &s.idle
	if i.active.Add(-1) != 0 || more {
		return
	}
	i.since.Store(int64(time.Since(i.start)))
	if !i.armed.Swap(true) {
		i.timer.Reset(idleAfter)
	}
}

// looked is called by the timer.
func (s *Server) looked() {
	i := &s.idle
	if s.closing.Load() {
		return // armed stays: nothing starts the timer again
	}
	passed := time.Duration(int64(time.Since(i.start)) - i.since.Load())
	if i.active.Load() == 0 && passed < idleAfter {
		i.timer.Reset(idleAfter - passed)
		return
	}
	i.armed.Store(false)
	// What becomes idle from here on starts the timer itself. What did before
	// found it armed, and is seen here.
	passed = time.Duration(int64(time.Since(i.start)) - i.since.Load())
	switch {
	case i.active.Load() != 0:
	case passed >= idleAfter:
		s.Idle(0)
	case !i.armed.Swap(true):
		i.timer.Reset(idleAfter - passed)
	}
}
