package http11

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// flush writes the collected responses.
func (c *conn) flush() bool {
	out := c.cx.out
	if len(out) == 0 {
		return true
	}
	c.cx.out = out[:0]
	return c.write(out) == nil
}

// write writes all of p.
func (c *conn) write(p []byte) error {
	if c.broken {
		return errClientGone
	}
	var err error
	if c.raw == nil {
		if t := c.srv.timeouts[phaseWrite]; t > 0 {
			c.armWrite(t)
		}
		_, err = c.nc.Write(p)
	} else {
		c.rest, c.errno = p, 0
		err = c.raw.Write(c.tryWrite)
		c.rest = nil
		if err == nil && c.errno != 0 {
			err = c.errno
		}
	}
	return c.wrote(err)
}

// wrote follows a write.
func (c *conn) wrote(err error) error {
	if c.stalled != 0 {
		c.stalled = 0
		c.nc.SetWriteDeadline(time.Time{}) // an error shows in the next write
	}
	if err == nil {
		return nil
	}
	c.broken = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.srv.stats.timeouts.Add(1)
	}
	return &writeError{err}
}

// writeFD writes as much as there is room for.
func (c *conn) writeFD(fd uintptr) bool {
	wrote := false
	for len(c.rest) > 0 {
		n, errno := writeFD(fd, c.rest)
		switch {
		case errno == 0:
			c.rest = c.rest[n:]
			wrote = true
		case again(errno):
			if t := c.srv.timeouts[phaseWrite]; t > 0 && (wrote || c.stalled == 0) {
				c.armWrite(t)
			}
			return false
		case errno != syscall.EINTR:
			c.errno = errno
			return true
		}
	}
	return true
}

// armWrite makes sure that a write which waits fails between t and t·9/8 from
// now.
func (c *conn) armWrite(t time.Duration) {
	now := c.srv.clock.now(t)
	if left := c.stalled - now; c.stalled != 0 && left >= t {
		return
	}
	c.stalled = now + t + t/8
	c.nc.SetWriteDeadline(c.srv.clock.start.Add(c.stalled)) // an error shows in the write
}
