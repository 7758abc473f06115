package http11

import (
	"io"
	"net"
	"time"

	"github.com/isobar-go/isobar/internal/base/release"
)

// An exchange answers the requests of a connection one after the other: it
// holds the current request and its response. Each handler has a Context that
// refers to it for one request. Only the holder of its region's turn touches it
// (turn.go).
type exchange struct {
	srv  *Server
	conn *conn   // nil for a request from net/http
	r    *region // nil while there is no request

	buf   []byte          // bytes read, in memory of the region
	next  int             // buf[next:] is not parsed yet
	epoch uint64          // of the request; see region.turn
	ctx   *requestContext // nil unless requested

	served           bool // the handler has the request
	reading, writing bool // by a goroutine that waits without the turn
	calling          bool // a function of the handler runs without the turn

	current
	response

	quiet  chan struct{}
	last   *Context // of the previous request; used by a fault set by tests
	chunks chunkedBody
	source io.Reader // of the body, if there is no conn
	mount  mounted   // if there is no conn
	began  time.Time // for Access
	sent   int64     // conn.sent when the request began, for Access
}

// A current is the state of a request apart from its response. begin resets it
// as a whole.
type current struct {
	bodyState bodyState
	bodyAsked bool // someone has begun to read
	aborted   bool
	close     bool  // the connection closes after this response
	hears     bool  // read the body before the response is sent, see Adapt
	continued bool  // 100 (Continue) was sent
	final     bool  // 100 is not sent any more: net/http's WriteHeader chose a final status
	bodyLeft  int64 // bytes, with Content-Length
	maxBody   int64
	taken     int64 // body bytes read from source or the connection
	bodyErr   error
	failed    error  // of the first failed write
	spare     []byte // read buffer for the rest of a body, after the first

	readBy, writeBy deadline
}

// A deadline is set by a handler, as a time of the server's clock.
type deadline struct {
	set bool
	at  time.Duration // 0 for none
}

// request returns the request, with its current epoch.
func (c *exchange) request() Request { return Request{c.r, c.r.epoch()} }

// open passes the request to a handler and ends the server's turn. Each request
// has its own Context, never reused: one that a handler kept cannot be mistaken
// for another.
func (c *exchange) open() *Context {
	r := c.r
	if r.handles == nil || r.handed == handlesAtOnce {
		r.handles, r.handed = new([handlesAtOnce]Context), 0
	}
	h := &r.handles[r.handed%handlesAtOnce]
	r.handed++
	if faults.reuseContexts {
		if c.last != nil {
			h = c.last
		}
		c.last = h
	}
	if r.x != c {
		r.x = c
	}
	c.served = true
	c.epoch = r.open()
	h.Request = Request{r, c.epoch}
	return h
}

// faults are two defects that this package once had. Tests set them to check
// that they would be found.
var faults struct {
	keepAdapted   bool // the body and writer of Adapt act on the connection's current request, whichever it is
	reuseContexts bool // a connection uses one Context for all its requests
}

// handlesAtOnce is how many Contexts are allocated at once.
const handlesAtOnce = 128

// end takes the request back when its handler has returned. All references to
// it are refused from now on; a retained request can still be read. Goroutines
// that wait in a method of the request are made to leave.
func (c *exchange) end() {
	r := c.r
	open := c.epoch << turnShift
	for i := 0; !r.turn.CompareAndSwap(open, open|turnBusy); i++ {
		backOff(i)
	}
	c.served = false
	if r.refs.Load() == 1 {
		r.next()
	} else {
		release.Uint64(&r.turn, open|turnKept|turnBusy)
	}
	if c.occupied() {
		c.cutOff()
	}
	if c.ctx != nil {
		c.ctx.end(c)
		c.ctx = nil
	}
}

// cutOff makes goroutines that wait for the client in a method of the request
// leave it. They take the turn once more to do so.
func (c *exchange) cutOff() {
	for c.occupied() {
		if c.conn != nil {
			c.conn.interrupt(c.reading, c.writing)
		} else {
			c.mount.interrupt(c.reading, c.writing)
		}
		quiet, r := c.nextQuiet(), c.r
		r.pass()
		<-quiet
		r.reclaim()
	}
	if c.conn != nil {
		c.conn.interrupted()
	} else {
		c.mount.interrupted()
	}
}

// occupied reports whether a goroutine is in a method of the request without
// the turn and will take it again.
func (c *exchange) occupied() bool { return c.reading || c.writing || c.calling }

// nextQuiet is closed when a goroutine in a method without the turn has taken
// it again.
func (c *exchange) nextQuiet() <-chan struct{} {
	if c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	return c.quiet
}

// awaitWriter waits, in an operation on the body, until no other goroutine
// sends.
func (c *exchange) awaitWriter() error {
	for c.writing && c.served {
		c.reading = true // so that end waits for this goroutine
		quiet := c.nextQuiet()
		c.r.pass()
		<-quiet
		c.r.reclaim()
		c.settled(&c.reading)
		if !c.served {
			return ErrEnded
		}
	}
	return nil
}

// pause ends the turn before a handler's goroutine waits for the client. Others
// may then use the request, but not read or write too. It does nothing if the
// server itself waits: the server keeps the turn.
func (c *exchange) pause(waiting *bool) bool {
	if !c.served {
		return false
	}
	*waiting = true
	c.r.pass()
	return true
}

// resume takes the turn again after pause and reports whether the request is
// still live. If not, the exchange belongs to the server and the caller leaves.
func (c *exchange) resume() bool {
	c.r.reclaim()
	return c.served
}

// settled ends the wait that pause began. The caller has the turn again.
func (c *exchange) settled(waiting *bool) {
	*waiting = false
	if c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// space returns where to read into.
func (c *exchange) space() []byte {
	if c.r == nil {
		c.r = c.srv.memory.acquire()
		c.r.head.scanned = 0
	}
	if cap(c.buf)-len(c.buf) < readRoom {
		c.buf = c.r.room(c.buf, readRoom)
	}
	return c.buf[len(c.buf):cap(c.buf)]
}

// got records n bytes read into space.
func (c *exchange) got(n int) { c.buf = c.buf[:len(c.buf)+n] }

// begin begins the request whose head is the next n bytes; 0 if the size is
// unknown.
func (c *exchange) begin(n int) {
	r := c.r
	if cap(c.buf) > len(c.buf) {
		c.buf = r.trim(c.buf)
	}
	end := c.next + n
	if n == 0 {
		end = len(c.buf)
	}
	r.forget()
	r.base[baseHead] = c.buf[c.next:end:end]
	c.next = end
	c.current = current{} // in place, as in section.reset
	c.maxBody = c.srv.lim.bodyBytes
	if n > 0 && r.head.length != 0 {
		c.beginBody()
	} else {
		c.bodyState = bodyDone
	}
	c.beginResponse()
	if c.conn != nil {
		c.conn.phase = phaseWrite
		if c.conn.patient != nil {
			c.conn.patient.fixed.Store(false)
		}
		if c.srv.Access != nil {
			c.began, c.sent = time.Now(), c.conn.sent
		}
	}
}

// carry ends all requests that have been parsed; out has been flushed.
func (c *exchange) carry() {
	old := c.r
	c.r, c.buf = c.r.detach(c.buf[c.next:])
	if c.r != old {
		c.r.head.scanned = 0
	}
	c.next, c.out = 0, nil
}

// recycle is carry where nothing is left.
func (c *exchange) recycle() {
	c.r, _ = c.r.detach(nil)
	c.r.head.scanned = 0
	c.buf, c.next, c.out = nil, 0, nil
}

// renew is recycle for one connection's requests. With keep it keeps the last
// head, behind which the next request is read: parseNext compares their fields.
func (c *exchange) renew(keep bool) {
	r := c.r
	head := r.base[baseHead]
	if !keep || r.refs.Load() > 1 || r.memory.keep == keepNone || len(head) > r.memory.config.BlockBytes/4 {
		c.recycle()
		return
	}
	r.base[baseHead] = r.carry(head)
	r.head.scanned = 0
	c.buf, c.next, c.out = nil, 0, nil
}

// drop releases the memory.
func (c *exchange) drop() {
	c.r.drop()
	c.r, c.buf, c.next, c.out = nil, nil, 0, nil
}

// take allocates n bytes.
func (c *exchange) take(n int) []byte {
	c.out = c.r.trim(c.out)
	return c.r.alloc(n)
}

// remoteAddr returns the client's address, or nil if unknown.
func (c *exchange) remoteAddr() net.Addr {
	if c.conn == nil {
		return c.mount.remoteAddr()
	}
	return c.conn.nc.RemoteAddr()
}
