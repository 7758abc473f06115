package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A client is one connection. Its goroutine owns it; Run does once that goroutine has ended.
type client struct {
	*run
	nc net.Conn
	in *bufio.Reader

	due, done, failed int64
	firstErr          error
}

func (c *client) dial() error {
	c.close()
	nc, err := c.connect()
	if err != nil {
		return err
	}
	c.nc = nc
	if c.in == nil {
		c.in = bufio.NewReaderSize(nc, 16<<10)
	} else {
		c.in.Reset(nc)
	}
	if c.message == nil {
		return nil
	}
	if _, err := c.nc.Write(c.bytes); err != nil {
		return err
	}
	_, _, err = c.head("101")
	return err
}

// connect opens a connection whose reads and writes fail when the run must end.
func (r *run) connect() (net.Conn, error) {
	dial := r.dial
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", r.Address) }
	}
	nc, err := dial(r.ctx)
	if err != nil {
		return nil, err
	}
	if deadline, ok := r.ctx.Deadline(); ok {
		nc.SetDeadline(deadline)
	}
	return nc, nil
}

func (c *client) close() {
	if c != nil && c.nc != nil {
		c.nc.Close() // all requested data has been read
		c.nc = nil
	}
}

// loop sends every batch of the schedule whose number is i modulo the number of
// connections. When time is up, it counts the remaining requests that had
// become due.
func (c *client) loop(i int64) {
	n, end := int64(c.Pipeline), c.Duration
	sending := true
	for ; ; i += int64(c.Connections) {
		var due time.Duration
		if c.Rate > 0 {
			due = c.Config.due(i * n)
		} else {
			due = time.Since(c.start)
		}
		if due >= end {
			return
		}
		c.due += n
		if sending && c.wait(due) {
			c.batch(due)
			continue
		}
		if c.Rate == 0 {
			return
		}
		sending, end = false, min(end, time.Since(c.start))
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

// batch sends the requests that are due together and reads the responses.
func (c *client) batch(due time.Duration) {
	began := time.Since(c.start)
	err := c.send()
	for left := int64(c.Pipeline); left > 0; left-- {
		if err == nil {
			err = c.receive()
		}
		if err != nil {
			c.failed += left
			c.firstErr = cmp.Or(c.firstErr, err)
			c.close()
			return
		}
		end := time.Since(c.start)
		c.done++
		c.response.Record(end - due)
		c.service.Record(end - began)
	}
}

func (c *client) send() error {
	if c.nc == nil {
		if err := c.dial(); err != nil {
			return err
		}
	}
	out := c.bytes
	if c.message != nil {
		out = c.message
	}
	_, err := c.nc.Write(out)
	return err
}

var errClosing = errors.New("the server closed the connection after its answer")

// receive reads one whole response.
func (c *client) receive() error {
	if c.message != nil {
		_, err := c.in.Discard(len(c.message))
		return err
	}
	length, closing, err := c.head("2")
	switch {
	case err != nil:
		return err
	case length == chunked:
		err = c.discardChunks()
	case length < 0:
		return errors.New("the answer has neither Content-Length nor chunks")
	default:
		_, err = c.in.Discard(length)
	}
	if err != nil {
		return err
	}
	if closing {
		return errClosing
	}
	return nil
}

// chunked is the length of a chunked response.
const chunked = -2

// ErrStatus is an answer of another status than the load is for.
var ErrStatus = errors.New("answer")

// head reads the head of a response, whose status must begin with want. length is -1 without a Content-Length.
func (c *client) head(want string) (length int, closing bool, err error) {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, false, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 "+want)) {
		return 0, false, fmt.Errorf("%w %q, want %s", ErrStatus, bytes.TrimSpace(status), (want + "xx")[:3])
	}
	if length = -1; bytes.HasPrefix(status, []byte("HTTP/1.1 204")) {
		length = 0
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return length, closing, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, false, fmt.Errorf("Content-Length %q: %w", value, err)
			}
		case len(name) == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")) &&
			bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")):
			length = chunked
		case len(name) == len("connection") && bytes.EqualFold(name, []byte("connection")):
			closing = bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
}
