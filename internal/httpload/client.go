package httpload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A client is one connection. It belongs to its goroutine, and to Run when
// that has ended.
type client struct {
	*run
	nc net.Conn
	in *bufio.Reader

	due, done, failed int64
	firstErr          error
}

func (c *client) dial() error {
	c.close()
	var d net.Dialer
	nc, err := d.DialContext(c.ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	if deadline, ok := c.ctx.Deadline(); ok {
		nc.SetDeadline(deadline)
	}
	c.nc = nc
	if c.in == nil {
		c.in = bufio.NewReaderSize(nc, 16<<10)
	} else {
		c.in.Reset(nc)
	}
	return nil
}

func (c *client) close() {
	if c != nil && c.nc != nil {
		c.nc.Close() // everything that was wanted has been read
		c.nc = nil
	}
}

// loop sends every request of the schedule whose number is i modulo the number
// of connections.
func (c *client) loop(i int64) {
	for ; ; i += int64(c.Connections) {
		var due time.Duration
		if c.Rate > 0 {
			due = c.Config.due(i)
		} else {
			due = time.Since(c.start)
		}
		if due >= c.Duration {
			return
		}
		c.due++
		if !c.wait(due) {
			return
		}
		c.one(due)
	}
}

// wait sleeps until due and reports whether there is time left.
func (c *client) wait(due time.Duration) bool {
	if ahead := due - time.Since(c.start); ahead > 0 {
		timer := time.NewTimer(ahead)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ctx.Done():
		}
	}
	return c.ctx.Err() == nil && time.Since(c.start) < 2*c.Duration
}

func (c *client) one(due time.Duration) {
	began := time.Since(c.start)
	err := c.roundTrip()
	end := time.Since(c.start)
	if err == nil {
		c.done++
		c.response.Record(end - due)
		c.service.Record(end - began)
		return
	}
	c.failed++
	if c.firstErr == nil {
		c.firstErr = err
	}
	c.close()
}

var errClosing = errors.New("the server closed the connection after its answer")

// roundTrip sends the request and reads the answer to its end.
func (c *client) roundTrip() error {
	if c.nc == nil {
		if err := c.dial(); err != nil {
			return err
		}
	}
	if _, err := c.nc.Write(c.bytes); err != nil {
		return err
	}
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("answer %q, want 200", bytes.TrimSpace(status))
	}
	length, closing := -1, false
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return fmt.Errorf("Content-Length %q: %w", value, err)
			}
		case len(name) == len("connection") && bytes.EqualFold(name, []byte("connection")):
			closing = bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
	if length < 0 {
		return errors.New("an answer without Content-Length")
	}
	if _, err := c.in.Discard(length); err != nil {
		return err
	}
	if closing {
		return errClosing
	}
	return nil
}
