package http11

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// idleAfter is how long a server must be idle before it reports so. Within a
// burst it is briefly idle between requests, and a collection started there
// would hit the next request.
const idleAfter = 2 * time.Millisecond

// idleness tells Server.Idle that no request has been in progress for
// idleAfter. It is used only if Idle is set.
//
// Every request of the server counts here, so the counters are split by P: one
// counter would be a cache line that all CPUs ask for twice in every request.
// Their sums are read by the timer alone, which looks every idleAfter while
// requests come and go.
type idleness struct {
	parts []idlePart // set before there are connections
	// armed says that the timer runs. Whoever sets it starts the timer; the timer
	// clears it. It publishes seen.
	armed atomic.Bool
	timer *time.Timer // set before there are connections
	seen  sums        // when the timer was started; owned by whoever has set armed
}

// An idlePart counts what began and what ended on some of the Ps. Both only
// grow, and publish nothing.
type idlePart struct {
	began, ended atomic.Uint64
	_            [112]byte // two lines: hardware fetches them in pairs
}

// sums are how much work has begun and how much has ended.
type sums struct{ began, ended uint64 }

func (s *Server) initIdle() {
	s.idle.parts = make([]idlePart, runtime.GOMAXPROCS(0))
	s.idle.timer = time.AfterFunc(time.Hour, s.looked)
	s.idle.timer.Stop()
}

// part returns the part of this P. Ps beyond those there were at first share some.
func (i *idleness) part() *idlePart {
	p := procpin.Pin()
	procpin.Unpin()
	return &i.parts[p%len(i.parts)]
}

// enter begins work.
func (s *Server) enter() { s.idle.part().began.Add(1) }

// leave ends work. With more, work resumes soon.
func (s *Server) leave(more bool) {
	i := &s.idle
	i.part().ended.Add(1)
	if !more && !i.armed.Load() && !i.armed.Swap(true) {
		i.start(i.sum())
	}
}

// sum adds up the parts. If they are equal, no work was in progress at a
// moment of the call: what ended is read first, and as much had begun after that.
func (i *idleness) sum() (p sums) {
	for k := range i.parts {
		p.ended += i.parts[k].ended.Load()
	}
	for k := range i.parts {
		p.began += i.parts[k].began.Load()
	}
	return p
}

// start has the timer compare with p. The caller has set armed.
func (i *idleness) start(p sums) {
	i.seen = p
	i.timer.Reset(idleAfter)
}

// looked is called by the timer.
func (s *Server) looked() {
	i := &s.idle
	if s.closing.Load() {
		return // armed stays set: nothing starts the timer again
	}
	before := i.seen
	if p := i.sum(); p != before {
		i.start(p)
		return
	}
	i.armed.Store(false)
	// From here on, whoever leaves starts the timer itself. Whoever did so before
	// found it armed, and is seen here.
	switch p := i.sum(); {
	case p == before && p.began == p.ended:
		s.Idle(0)
	case p != before && !i.armed.Swap(true):
		i.start(p)
	}
}
