package http11

import (
	"sync"
	"sync/atomic"
	"time"
)

// Finished responses wait for the rest of their batch, but at most debtWait for
// a slow handler. A client that does not read stretches that to debtRetry.
const (
	debtWait  = 250 * time.Microsecond
	debtRetry = 8 * time.Millisecond
)

// A debt sends a connection's finished responses while a later handler runs.
// Its timer is armed once per batch and rarely fires.
type debt struct {
	c *conn

	// armed says that the timer will check the responses finished by now. The
	// connection sets it; fire clears it while it holds the turn of r.
	armed atomic.Bool

	mu    sync.Mutex
	r     *region // the handler's; nil while none runs; written by the connection under mu
	timer *time.Timer
	wait  time.Duration
}

// owe records that a handler is called while finished responses wait. If they
// cannot be sent while it runs, owe sends them now, and reports false if that
// fails.
func (c *conn) owe() bool {
	if c.raw == nil {
		return c.cx.sendEarlier() == nil
	}
	if c.debt == nil {
		c.debt = &debt{c: c}
	}
	if d := c.debt; d.r != c.cx.r || !d.armed.Load() {
		d.arm()
	}
	return true
}

func (d *debt) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.r, d.wait = d.c.cx.r, debtWait
	d.armed.Store(true)
	if d.timer == nil {
		d.timer = time.AfterFunc(d.wait, d.fire)
	} else {
		d.timer.Reset(d.wait)
	}
}

// paid undoes owe once no handler runs.
func (c *conn) paid() {
	d := c.debt
	if d == nil || d.r == nil {
		return
	}
	d.mu.Lock()
	d.r = nil
	d.armed.Store(false)
	d.timer.Stop()
	d.mu.Unlock()
}

// fire sends the finished responses, unless someone is using them; then it
// retries.
func (d *debt) fire() {
	d.mu.Lock()
	defer d.mu.Unlock() // the exchange cannot change before paid
	if d.r == nil {
		return
	}
	if d.r.tryReclaim() {
		if x := &d.c.cx; d.r.x == x && x.served && !x.writing {
			d.c.sendSome()
			if x.mark == 0 {
				d.armed.Store(false)
			}
		}
		d.r.pass()
	}
	if d.armed.Load() {
		d.timer.Reset(d.wait)
		d.wait = min(2*d.wait, debtRetry)
	}
}

// sendSome sends as many finished bytes as there is room for. The caller has
// the turn.
func (c *conn) sendSome() {
	x := &c.cx
	if x.mark == 0 || c.broken || c.hijacked {
		return
	}
	n := 0
	err := c.raw.Control(func(fd uintptr) {
		m, errno := writeFD(fd, x.out[:x.mark])
		if errno == 0 {
			n = m
		}
	})
	if err != nil || n <= 0 {
		return // the connection will notice
	}
	c.sent += int64(n)
	x.out = x.out[:copy(x.out, x.out[n:])]
	x.mark -= n
}
