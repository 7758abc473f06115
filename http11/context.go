package http11

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// A Context is a request and the response to it. It belongs to its handler
// until the handler returns; it must not be copied. One goroutine at a time may
// use it.
//
// What is written is collected and sent when the handler has returned, with its
// Content-Length; together with the responses to pipelined requests where there
// are some. A response that grows beyond 64 KB, or that is flushed, is sent as
// it is written: in chunks, unless the handler set Content-Length.
type Context struct {
	Request // its region is nil while there is no request
	srv     *Server
	conn    *conn

	buf  []byte // what was read, in memory of the region
	next int    // buf[next:] follows what has been parsed

	bodyState bodyState
	bodyLeft  int64 // of a body with Content-Length
	body      View  // once it was read as a whole
	bodyErr   error
	chunks    chunkedBody

	spare   []byte    // for the rest of a body: the read buffer after the first
	source  io.Reader // of the body, where there is no conn
	mount   mounted   // where there is no conn
	taken   int64     // from source
	began   time.Time // for access, which is used again
	access  Access
	aborted bool
	close   bool // the connection ends after this response

	response
}

// space returns where to read to.
func (c *Context) space() []byte {
	if c.r == nil {
		c.r = c.srv.memory.acquire()
		c.r.head.scanned = 0
	}
	if cap(c.buf)-len(c.buf) < readRoom {
		c.buf = c.r.room(c.buf, readRoom)
	}
	return c.buf[len(c.buf):cap(c.buf)]
}

// got takes note of n bytes that were read into space.
func (c *Context) got(n int) { c.buf = c.buf[:len(c.buf)+n] }

// begin begins the request whose head is the next n bytes; 0 if it is not
// known how many.
func (c *Context) begin(n int) {
	r := c.r
	r.next()
	c.buf = r.trim(c.buf)
	end := c.next + n
	if n == 0 {
		end = len(c.buf)
	}
	r.base = [numBases][]byte{baseHead: c.buf[c.next:end:end]}
	r.trailers = r.trailers[:0]
	c.next = end
	c.beginBody(n > 0)
	c.beginResponse()
	c.aborted, c.close, c.spare, c.taken = false, false, nil, 0
	if c.conn != nil {
		c.conn.phase = phaseWrite
		if c.srv.Access != nil {
			c.began = time.Now()
		}
	}
}

// carry ends all requests that have been parsed; out has been flushed.
func (c *Context) carry() {
	old := c.r
	c.r, c.buf = c.r.detach(c.buf[c.next:])
	if c.r != old {
		c.r.head.scanned = 0
	}
	c.next, c.out = 0, nil
}

// recycle is carry where nothing is left.
func (c *Context) recycle() {
	c.r, _ = c.r.detach(nil)
	c.r.head.scanned = 0
	c.buf, c.next, c.out = nil, 0, nil
}

// drop gives the memory back.
func (c *Context) drop() {
	c.r.drop()
	c.r, c.buf, c.next, c.out = nil, nil, 0, nil
}

// take allocates n bytes.
func (c *Context) take(n int) []byte {
	c.out = c.r.trim(c.out)
	return c.r.alloc(n)
}

// Alloc returns n bytes of unspecified contents that last as long as the
// request.
func (c *Context) Alloc(n int) []byte { return c.take(n) }

// RemoteAddr returns the address of the client, nil if it is not known.
func (c *Context) RemoteAddr() net.Addr {
	if c.conn == nil {
		return nil
	}
	return c.conn.nc.RemoteAddr()
}

// Conn returns the connection for settings such as those of TLS. It must not
// be read, written or closed; Hijack is for that. It is nil if the request did
// not come by a connection of this server.
func (c *Context) Conn() net.Conn {
	if c.conn == nil {
		return nil
	}
	return c.conn.nc
}

// Hijack takes the connection over from the server: nothing is answered, and
// the caller reads, writes and closes it. buffered is what the client has sent
// beyond the head. Memory of the request is valid until the handler returns.
func (c *Context) Hijack() (nc net.Conn, buffered []byte, err error) {
	switch {
	case c.conn == nil:
		return nil, nil, ErrNoConn
	case c.conn.hijacked:
		return nil, nil, ErrHijacked
	case c.state >= stateStreamed:
		return nil, nil, errors.New("http11: Hijack: a part of the response was sent; hijack before it")
	}
	if err := c.sendEarlier(); err != nil {
		return nil, nil, err
	}
	return c.conn.hijack()
}

// hijack leaves the connection to the handler.
func (c *conn) hijack() (net.Conn, []byte, error) {
	nc := c.nc
	if c.sock != nil {
		var err error
		if nc, err = c.sock.hijack(); err != nil {
			return nil, nil, fmt.Errorf("http11: Hijack: %w; answer instead", err)
		}
	} else {
		nc.SetDeadline(noDeadline) // an error shows in what the caller does
		c.srv.forget(c)
	}
	c.hijacked = true
	c.cx.out = c.cx.out[:0]
	c.cx.state = stateNone
	return nc, append([]byte(nil), c.cx.buf[c.cx.next:]...), nil
}

// timedOut tells a time-out of reading.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
