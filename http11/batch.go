package http11

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/trace"
	"time"
)

// batch answers the requests that have arrived, and waits for the rest of a
// partial one. It reports whether the connection continues.
func (c *conn) batch() bool {
	if c.srv.Idle != nil {
		c.srv.enter()
		defer c.idle()
	}
	if c.srv.ConnState != nil {
		c.nowActive()
	}
	goesOn := c.answerAll()
	c.paid()
	if goesOn && !c.later && c.srv.ConnState != nil {
		c.nowIdle()
	}
	return goesOn
}

// answerAll answers until no byte is left unanswered, the loop has to wait for
// more of a head, or the connection ends, which it reports as false.
func (c *conn) answerAll() bool {
	cx := &c.cx
	for {
		n, err := parseNext(&cx.r.head, cx.r.base[baseHead], cx.buf[cx.next:], &c.srv.lim)
		switch {
		case err != nil:
			if err != errBodyLong { // the next request cannot be found
				n = 0
			}
			cx.begin(n)
			return c.refuse(err)
		case n == 0:
			if goesOn := c.moreHead(); !goesOn || c.later {
				return goesOn
			}
			continue
		}
		cx.begin(n)
		if !c.answerOne() {
			return false
		}
		if cx.next == len(cx.buf) {
			// await sends them in one call with its read, and a loop's turn without
			// the way that may wait.
			c.left = c.raw != nil && !c.broken && c.srv.ConnState == nil
			return c.left || c.sendLeft()
		}
	}
}

// answerOne answers the request that has begun, and reports whether the
// connection continues.
func (c *conn) answerOne() bool {
	cx := &c.cx
	if c.srv.MaxBody != nil && cx.r.head.length != 0 {
		if err := c.askMaxBody(); err != nil {
			return c.refuse(err)
		}
	}
	if cx.mark > 0 && !c.owe() {
		return false
	}
	return c.answer() && (len(cx.out) < flushBytes || c.flush())
}

// moreHead sends what is finished and reads more of a head. It sets later if
// the loop has to wait for it.
func (c *conn) moreHead() bool {
	cx := &c.cx
	if !c.flush() {
		return false
	}
	if cx.next > 0 {
		cx.carry()
	}
	if c.phase != phaseHead {
		c.phase, c.waiting = phaseHead, false
	}
	err := c.read()
	switch {
	case err == nil:
		return true
	case err == errLater:
		c.later = true
		return true
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.headLate()
	}
	return false
}

// askMaxBody asks for the body limit. A panic in Server.MaxBody closes the
// connection, like one in a handler.
func (c *conn) askMaxBody() (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
			err = errHandler
		}
	}()
	return c.cx.askMaxBody()
}

// headLate refuses a request whose head arrived too late.
func (c *conn) headLate() bool {
	c.srv.stats.timeouts.Add(1)
	c.cx.begin(0)
	return c.refuse(errHeadSlow)
}

// idle undoes the enter of batch.
func (c *conn) idle() { c.srv.leave(c.later) }

// Errors that the parser cannot detect: they concern time and handlers.
var (
	errHandler  = &protocolError{500, "9110 15.6.1", "the handler failed"}
	errHeadSlow = &protocolError{408, "9110 15.5.9", "the header section did not arrive in time"}
	errBodySlow = &protocolError{408, "9110 15.5.9", "the body did not arrive in time"}
)

// answer lets the handler answer the current request, and reports whether the
// connection continues.
func (c *conn) answer() bool {
	cx := &c.cx
	c.requests++
	h := &cx.r.head
	cx.close = h.close || c.srv.MaxRequests > 0 && c.requests >= c.srv.MaxRequests
	ok := c.call()
	switch {
	case c.hijacked:
		c.log(EndHijacked)
		return false
	case !ok && (cx.state >= stateStreamed || cx.aborted):
		c.abandon() // the client sees that the response is incomplete
		if cx.aborted {
			c.log(EndAborted)
		} else {
			c.log(EndPanicked)
		}
		return false
	case !ok:
		cx.fail(errHandler.Status, errHandler.Reason)
	case cx.bodyErr != nil && cx.state < stateBody && !cx.touched:
		var refusal *protocolError
		if errors.As(cx.bodyErr, &refusal) {
			return c.refuse(refusal)
		}
		c.abandon()
		c.log(EndCut)
		return false
	}
	if cx.state < stateStreamed && (!cx.skips() || cx.hears && !cx.skipBody(false)) {
		cx.close = true
	}
	whole := cx.finish()
	if by := cx.writeBy.at; by > 0 && c.srv.clock.now(0) >= by {
		c.flush() // fails: content held back until now is late too
	}
	if c.srv.Access != nil {
		c.logSent(ok, whole)
	}
	if !whole || c.broken || !cx.skipBody(true) || cx.close {
		return c.last(cx.bodyState != bodyDone || !ok || cx.next < len(cx.buf))
	}
	if cx.r.refs.Load() > 1 { // the handler retained it
		if !c.flush() {
			return false
		}
		cx.carry()
	}
	return true
}

// abandon sends the responses to earlier requests before the connection closes
// without one to this request.
func (c *conn) abandon() {
	if c.cx.mark > 0 {
		c.cx.out = c.cx.out[:c.cx.mark]
		c.flush() // nothing to do if it fails
	}
}

// call calls the handler and reports whether it returned. In an execution trace
// it is the region "http11 request".
func (c *conn) call() (ok bool) {
	if trace.IsEnabled() {
		defer trace.StartRegion(context.Background(), "http11 request").End()
	}
	defer func() {
		if ok {
			return
		}
		v := recover()
		c.cx.end()
		if v != nil {
			c.panicked(v)
		} else {
			c.paid() // runtime.Goexit: nothing else will run
		}
	}()
	c.srv.Handler.ServeHTTP11(c.cx.open())
	ok = true
	c.cx.end()
	return ok
}

func (c *conn) panicked(v any) {
	if v == http.ErrAbortHandler {
		c.cx.aborted = true
		return
	}
	c.srv.stats.panics.Add(1)
	stack := debug.Stack()
	if c.srv.OnPanic != nil {
		c.cx.lend(func(q Request) { c.srv.OnPanic(q, v, stack) })
		return
	}
	logPanic(v, stack)
}

// refuse answers a request that is malformed, over a limit or late, and closes
// the connection.
func (c *conn) refuse(err error) bool {
	c.srv.stats.refused.Add(1)
	refusal := &protocolError{Status: 400, Reason: "the request is malformed"}
	errors.As(err, &refusal)
	unread := true
	if refusal == errBodyLong {
		unread = !c.hearOut()
	}
	c.cx.fail(refusal.Status, refusal.Reason)
	c.cx.finish()
	if c.srv.Access != nil {
		c.flush()
		c.log(EndRefused)
	}
	return c.last(unread)
}

// hearOut reads a body before refusing it for its announced length, and reports
// whether it did. Many clients look for a response only after sending the whole
// request, and a proxy that is answered earlier may reset its connection to
// such a client. A client that waits for 100 (Continue) sends nothing, and a
// body over lingerBytes is not read.
func (c *conn) hearOut() bool {
	cx := &c.cx
	h, arrived := &cx.r.head, len(cx.buf)-cx.next
	left := cx.bodyLeft - int64(arrived)
	if h.chunked || left > lingerBytes || left > 0 && h.expect && arrived == 0 {
		return false
	}
	return cx.sendEarlier() == nil && c.drop(left, lingering)
}

// drop reads and discards n bytes, and reports whether they came in time.
func (c *conn) drop(n int64, within time.Duration) bool {
	if n <= 0 {
		return true
	}
	if c.sock != nil { // waiting needs a goroutine, and the connection has none yet
		if !c.srv.linger() {
			return false
		}
		defer c.srv.lingering.Add(-1)
		c.sock.leave()
	}
	c.phase, c.waiting = phaseBody, true // keep the deadline set here
	c.armed = c.srv.clock.now(0) + within
	c.cx.readBy = deadline{true, c.armed} // even after Shutdown's nudge
	if c.nc.SetReadDeadline(time.Now().Add(within)) != nil {
		return false
	}
	room := c.cx.take(32 << 10)
	defer func() { c.dst = nil }()
	for ; n > 0; n -= int64(c.n) {
		c.dst = room[:min(n, int64(len(room)))]
		if c.read() != nil {
			return false
		}
	}
	return true
}

// last sends finished responses before the connection closes. With unread, the
// client may still be sending: closing then would reset the connection, and the
// client might lose the response (RFC 9112, section 9.6). Without CloseWrite, as
// in most wrappers of a connection, a client that waits for the end of the
// connection does not see it meanwhile. Shutdown does not wait long for it.
func (c *conn) last(unread bool) bool {
	if !c.flush() || !unread {
		return false
	}
	within := beforeReset
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil && !c.srv.closing.Load() {
		within = lingering
	}
	if c.drop(lingerBytes, within) { // the client keeps sending: leave it time to see the response
		c.pauseBeforeReset()
	}
	return false
}

// lingering bounds the time for reading an oversized body before refusing it and
// for reading on before a close. Tests change it while no server serves.
var lingering = 5 * time.Second

// lingerBytes bounds the same two in bytes; for beforeReset the connection then stays open
// and nothing is read, so that the client sees the response before the reset. Without
// CloseWrite, and after Shutdown, beforeReset also bounds the reading before a close.
const (
	lingerBytes = 16 << 20
	beforeReset = 500 * time.Millisecond
	// maxLingering is how many goroutines of a server may do so at the same time.
	maxLingering = 128
)

func (c *conn) pauseBeforeReset() {
	if !c.srv.linger() {
		return
	}
	defer c.srv.lingering.Add(-1)
	if c.sock != nil {
		c.sock.leave()
	}
	time.Sleep(beforeReset)
}

// linger reports whether another goroutine may stay with a connection about to
// close. Over the limit the connection closes at once, and its client may see a
// reset instead of the response.
func (s *Server) linger() bool {
	if s.lingering.Add(1) <= maxLingering {
		return true
	}
	s.lingering.Add(-1)
	return false
}
