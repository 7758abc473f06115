package http11

import (
	"errors"
	"math"
	"os"
	"syscall"
	"time"
)

// flush writes the collected responses, and reports whether all have been sent.
func (c *conn) flush() bool {
	c.paid()
	out := c.cx.out
	if len(out) == 0 {
		return !c.broken
	}
	c.cx.out, c.cx.mark = out[:0], 0
	return c.write(out) == nil
}

// write writes all of p.
func (c *conn) write(p []byte) error {
	switch {
	case c.hijacked:
		return ErrHijacked
	case c.broken:
		return c.cx.clientGone()
	}
	if c.raw == nil {
		return c.writeConn(p)
	}
	if by := c.cx.writeBy.at; by > 0 && c.srv.clock.now(0) >= by { // it may not have to wait
		return c.wrote(os.ErrDeadlineExceeded)
	}
	c.rest, c.writeErrno = p, 0
	err := c.raw.Write(c.tryWrite)
	for err != nil && errors.Is(err, os.ErrDeadlineExceeded) && c.stillServed() && c.progressed() {
		err = c.raw.Write(c.tryWrite)
	}
	x := &c.cx
	if x.writing { // this write has waited
		c.stillServed()
		x.settled(&x.writing)
		if !x.served {
			c.broken = true // part of the response was sent
			return ErrEnded
		}
	}
	c.rest = nil
	if err == nil && c.writeErrno != 0 {
		err = c.writeErrno
	}
	return c.wrote(err)
}

// stillServed takes the turn again after a failed wait, and reports whether the
// request is still live.
func (c *conn) stillServed() bool {
	if !c.writeAway {
		return true
	}
	c.writeAway = false
	return c.cx.resume()
}

// writeConn is write with the methods of nc. They may wait at any time.
func (c *conn) writeConn(p []byte) error {
	if t := c.srv.timeouts[phaseWrite]; t > 0 || c.cx.writeBy.set {
		c.armWrite(t)
	}
	x := &c.cx
	away := x.pause(&x.writing)
	n, err := c.nc.Write(p)
	if away {
		x.resume()
		x.settled(&x.writing)
	}
	c.sent += int64(n)
	if away && !x.served {
		c.broken = c.broken || err != nil
		return ErrEnded
	}
	return c.wrote(err)
}

// wrote runs after a write.
func (c *conn) wrote(err error) error {
	if c.stalled != 0 {
		c.stalled = 0
		c.nc.SetWriteDeadline(time.Time{}) // the next write shows an error
	}
	if err == nil {
		return nil
	}
	c.broken = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.srv.stats.timeouts.Add(1)
	}
	c.cx.failed = c.opError("write", err)
	if rc := c.cx.ctx; rc != nil {
		rc.cancel(nil) // the rest of a body may hide that the client is gone
	}
	return &writeError{c.cx.failed}
}

// writeFD writes as much as there is room for.
func (c *conn) writeFD(fd uintptr) bool {
	if c.writeAway {
		c.writeAway = false
		if !c.cx.resume() {
			return true
		}
	}
	wrote := false
	for len(c.rest) > 0 {
		n, errno := writeFD(fd, c.rest)
		switch {
		case errno == 0:
			c.rest = c.rest[n:]
			c.sent += int64(n)
			wrote = true
		case again(errno):
			if t := c.srv.timeouts[phaseWrite]; (t > 0 || c.cx.writeBy.set) && (wrote || c.stalled == 0) {
				c.armWrite(t)
				c.queued = unsent(fd)
			}
			c.writeAway = c.cx.pause(&c.cx.writing)
			return false
		case errno != syscall.EINTR:
			c.writeErrno = errno
			return true
		}
	}
	return true
}

// armWrite ensures that a waiting write fails between t and t·9/8 from now, or
// at the handler's deadline.
func (c *conn) armWrite(t time.Duration) {
	if by := c.cx.writeBy; by.set {
		if c.stalled = by.at; by.at == 0 {
			c.stalled = 1 // so that wrote resets it
		}
		c.nc.SetWriteDeadline(c.srv.clock.when(by.at)) // the write shows an error
		return
	}
	now := c.srv.clock.now(t)
	if left := c.stalled - now; c.stalled != 0 && left >= t {
		return
	}
	c.stalled = now + t + t/8
	c.nc.SetWriteDeadline(c.srv.clock.start.Add(c.stalled)) // the write shows an error
}

// progressed reports whether the client has taken bytes since the write
// time-out was set, or all there were, and if so sets it again. The kernel
// reports room only once a third of its buffer is free; a client that reads
// slowly but steadily may need longer than the time-out for that. If nothing
// waits for the client, only the server was late. A handler's deadline stands.
func (c *conn) progressed() bool {
	t := c.srv.timeouts[phaseWrite]
	if c.cx.writeBy.set || t <= 0 {
		return false
	}
	left := c.unsent()
	if left >= c.queued && left > 0 {
		return false
	}
	c.queued, c.stalled = left, 0
	c.armWrite(t)
	return true
}

// unknown is more than a client can have left.
const unknown = math.MaxInt

// unsent returns how many bytes the client has not taken yet, or unknown.
func (c *conn) unsent() int { return unsentOf(c.raw) }

func unsentOf(raw syscall.RawConn) int {
	left := unknown
	if raw != nil {
		raw.Control(func(fd uintptr) { left = unsent(fd) }) // an error leaves it unknown
	}
	return left
}
