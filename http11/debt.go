package http11

import (
	"sync"
	"sync/atomic"
	"time"
)

// Finished responses wait for the rest of their batch, but not for a slow
// handler: they are sent debtWait to twice that after it began. If the client
// does not read, that is tried again after debtRetry.
const (
	debtWait  = 400 * time.Microsecond
	debtRetry = 8 * time.Millisecond
)

// A debt is a connection whose handler runs while earlier responses wait.
type debt struct {
	c *conn
	// r is the handler's region; nil while no batch has a debt. The connection
	// writes it.
	r     atomic.Pointer[region]
	state atomic.Int32
	// listed says that the debt is in debts. Whoever sets it appends the debt.
	listed atomic.Bool
}

// The states of a debt. The connection sets owed and settled while no handler
// runs; debts sets the others, and settled while it has the turn of r.
const (
	settled int32 = iota // nothing waits, or no handler runs
	owed                 // since the last look at the earliest
	due                  // since before that
	stuck                // the client does not read
)

// debts sends finished responses while later handlers run. One timer looks at
// all connections with a debt; it rests while there is none.
type debts struct {
	mu    sync.Mutex
	all   []*debt
	alarm *alarm // nil before the first debt
	armed bool

	spare []*debt // owned by look
}

// owe records that a handler is called while finished responses wait. If they
// cannot be sent while it runs, owe sends them now, and reports false if that
// fails.
func (c *conn) owe() bool {
	if c.debt != nil && c.debt.state.Load() != settled {
		return true
	}
	if c.raw == nil || !c.incur() {
		return c.cx.sendEarlier() == nil
	}
	return true
}

func (c *conn) incur() bool {
	if c.debt == nil {
		c.debt = &debt{c: c}
	}
	d := c.debt
	d.r.Store(c.cx.r)
	d.state.Store(owed)
	return d.list()
}

// paid undoes owe before the finished responses are sent, and once no handler
// runs.
func (c *conn) paid() {
	if d := c.debt; d != nil && d.r.Load() != nil {
		d.state.Store(settled)
		d.r.Store(nil)
	}
}

// list makes sure that debts looks at d. It reports false if that is impossible.
func (d *debt) list() bool {
	if !d.listed.CompareAndSwap(false, true) {
		return true
	}
	s := &d.c.srv.debts
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alarm == nil {
		a, err := newAlarm(func(*alarm) { s.look() })
		if err != nil { // for example out of descriptors
			d.listed.Store(false)
			return false
		}
		s.alarm = a
	}
	s.all = append(s.all, d)
	if !s.armed {
		s.armed = true
		d.state.CompareAndSwap(owed, due) // the first look comes debtWait from now
		s.alarm.set(debtWait)
	}
	return true
}

// look is called by the alarm.
func (s *debts) look() {
	s.mu.Lock()
	all := s.all
	s.all = s.spare
	s.mu.Unlock()
	kept := all[:0]
	for _, d := range all {
		if d.look() {
			kept = append(kept, d)
		}
	}
	clear(all[len(kept):])
	s.mu.Lock()
	defer s.mu.Unlock()
	kept = append(kept, s.all...)
	clear(s.all)
	s.all, s.spare = kept, s.all[:0]
	if s.armed = len(s.all) > 0; s.armed && s.alarm != nil {
		s.alarm.set(debtWait)
	}
}

// look sends what is due, and reports whether d stays listed.
func (d *debt) look() bool {
	if !d.state.CompareAndSwap(owed, due) && d.state.Load() == due {
		d.send()
	}
	if d.pending() {
		return true
	}
	d.listed.Store(false)
	return d.pending() && d.listed.CompareAndSwap(false, true)
}

func (d *debt) pending() bool {
	state := d.state.Load()
	return state == owed || state == due
}

// send sends the finished responses, unless someone is using them.
func (d *debt) send() {
	r := d.r.Load()
	if r == nil || !r.tryReclaim() {
		return
	}
	// The batch may have ended meanwhile, and r serve another connection.
	if x := &d.c.cx; r.x == x && x.served {
		if d.c.sendSome() {
			d.state.Store(settled)
		} else {
			d.state.Store(stuck)
			time.AfterFunc(debtRetry, d.retry)
		}
	}
	r.pass()
}

func (d *debt) retry() {
	if d.state.CompareAndSwap(stuck, due) {
		d.list()
	}
}

// close ends the alarm once no connection is left.
func (s *debts) close() {
	s.mu.Lock()
	a := s.alarm
	s.alarm = nil
	s.mu.Unlock()
	if a != nil {
		a.close() // may wait for look
	}
}

// sendSome sends as many finished bytes as there is room for, and reports
// whether none are left that it should send. The caller has the turn.
func (c *conn) sendSome() bool {
	x := &c.cx
	if x.mark == 0 || x.writing || c.broken || c.hijacked {
		return true
	}
	n := 0
	err := c.raw.Control(func(fd uintptr) {
		m, errno := writeFD(fd, x.out[:x.mark])
		if errno == 0 {
			n = m
		}
	})
	if err != nil || n <= 0 {
		return false // the connection will notice
	}
	c.sent += int64(n)
	x.out = x.out[:copy(x.out, x.out[n:])]
	x.mark -= n
	return x.mark == 0
}
