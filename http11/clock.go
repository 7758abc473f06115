package http11

import (
	"sync/atomic"
	"time"
)

// A clock keeps the Date field and a coarse time for a server's connections, so
// that a request reads no clock. It ticks once a second while the server
// serves.
type clock struct {
	// begin publishes what a response with status 200 begins with: okLine and the
	// fields Date and Server. The ticking goroutine creates the bytes; they never
	// change.
	begin atomic.Pointer[[]byte]
	// coarse publishes the time of the last tick, since start.
	coarse atomic.Int64
	start  time.Time
	stop   chan struct{}
	srv    *Server
}

func newClock(s *Server) *clock {
	c := &clock{start: time.Now(), stop: make(chan struct{}), srv: s}
	c.tick(c.start)
	go c.run()
	return c
}

func (c *clock) run() {
	for {
		now := time.Now()
		t := time.NewTimer(now.Truncate(time.Second).Add(time.Second).Sub(now))
		select {
		case now = <-t.C:
			c.tick(now)
			c.srv.memory.source.trim()
		case <-c.stop:
			t.Stop()
			return
		}
	}
}

func (c *clock) tick(now time.Time) {
	begin := now.UTC().AppendFormat([]byte(okLine+"Date: "), dateFormat)
	begin = c.srv.appendName(append(begin, "\r\n"...))
	c.begin.Store(&begin)
	c.coarse.Store(int64(now.Sub(c.start)))
}

// dateFormat is IMF-fixdate (RFC 9110, section 5.6.7).
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// A timeout below fine needs more precision than a second.
const fine = 16 * time.Second

// now returns the time since the clock's start, precise enough for timeout.
func (c *clock) now(timeout time.Duration) time.Duration {
	if timeout >= fine {
		return time.Duration(c.coarse.Load())
	}
	return time.Since(c.start)
}

// when converts at to the time of day; 0 becomes the zero Time.
func (c *clock) when(at time.Duration) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return c.start.Add(at)
}

// deadlineAt is a handler's deadline at t; none for the zero Time.
func (c *clock) deadlineAt(t time.Time) deadline {
	if t.IsZero() {
		return deadline{set: true}
	}
	return deadline{set: true, at: max(t.Sub(c.start), 1)}
}
