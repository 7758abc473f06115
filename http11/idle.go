package http11

import (
	"sync/atomic"
	"time"
)

// idleAfter is how long a server must be idle before it reports so. Within a
// burst it is briefly idle between requests, and a collection started there
// would hit the next request.
const idleAfter = 2 * time.Millisecond

// idleness tells Server.Idle that no request has been in progress for
// idleAfter. It is used only if Idle is set.
type idleness struct {
	// active counts connections with a request in progress. It publishes nothing.
	active atomic.Int64
	// since is when active became 0, in nanoseconds since start. Whoever made it 0
	// writes since; the timer reads it.
	since atomic.Int64
	// armed says that the timer runs. Whoever sets it starts the timer; the timer
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

// leave ends work. With more, work resumes soon.
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
		return // armed stays set: nothing starts the timer again
	}
	passed := time.Duration(int64(time.Since(i.start)) - i.since.Load())
	if i.active.Load() == 0 && passed < idleAfter {
		i.timer.Reset(idleAfter - passed)
		return
	}
	i.armed.Store(false)
	// From here on, whoever becomes idle starts the timer itself. Whoever did so
	// before found it armed, and is seen here.
	passed = time.Duration(int64(time.Since(i.start)) - i.since.Load())
	switch {
	case i.active.Load() != 0:
	case passed >= idleAfter:
		s.Idle(0)
	case !i.armed.Swap(true):
		i.timer.Reset(idleAfter - passed)
	}
}
