package http11

import (
	"context"
	"sync"
	"sync/atomic"
)

// A requestContext is the context of a request. It watches the client only once
// someone asks whether the context has ended.
type requestContext struct {
	context.Context                         // with a cancel
	cancel          context.CancelCauseFunc // with ErrEnded at the end of the request
	request         Context
	asked           sync.Once

	// Owned by the holder of the turn.
	wanted  bool          // watch the client once the body has been read
	looking chan struct{} // closed when the look-out has ended; nil if there is none
	got     int           // bytes read by the look-out; published by looking
	stop    atomic.Bool   // publishes that the look-out is to end
}

// context returns the request's context, creating it on first use.
func (c *exchange) context(request *Context) *requestContext {
	if c.ctx == nil {
		var parent context.Context
		switch {
		case c.conn == nil:
			parent = c.mount.r.Context()
		case c.conn.sock != nil:
			parent = c.conn.sock.context()
		default:
			parent = c.conn.parent
		}
		if parent == nil {
			parent = context.Background()
		}
		rc := &requestContext{request: *request}
		rc.Context, rc.cancel = context.WithCancelCause(parent)
		c.ctx = rc
		if c.conn != nil && c.conn.broken {
			rc.cancel(nil)
		}
	}
	return c.ctx
}

// Done starts watching the client.
func (rc *requestContext) Done() <-chan struct{} {
	rc.asked.Do(rc.ask)
	return rc.Context.Done()
}

// Err starts watching the client.
func (rc *requestContext) Err() error {
	rc.asked.Do(rc.ask)
	return rc.Context.Err()
}

func (rc *requestContext) ask() {
	x := rc.request.enter()
	if x == nil {
		return // the context has ended too
	}
	defer x.exit()
	switch {
	case x.conn == nil || x.conn.hijacked || x.ctx != rc: // net/http watches, or nobody can
	case x.conn.sock != nil:
		f := func() { rc.cancel(nil) }
		x.conn.sock.watchEnd(&f)
	default:
		rc.wanted = true
		rc.lookOut(x)
	}
}

// lookOut starts a goroutine that waits for the client, if requested and if
// nothing else reads from the connection. The caller has the turn.
func (rc *requestContext) lookOut(x *exchange) {
	if !rc.wanted || rc.looking != nil || x.bodyState < bodyDone || x.conn.hijacked {
		return
	}
	rc.looking = make(chan struct{})
	x.conn.armed, x.conn.waiting = 0, false
	go rc.look(x.conn)
}

// look is the look-out. It may meet deadlines that are not meant for it, such as
// Shutdown's nudge.
func (rc *requestContext) look(c *conn) {
	defer close(rc.looking)
	for {
		c.nc.SetReadDeadline(noDeadline) // the read shows an error
		if rc.stop.Load() {              // looked at last: unwatch's deadline may be gone now
			return
		}
		n, err := c.nc.Read(c.first[:])
		if n == 0 && timedOut(err) {
			continue
		}
		if rc.got = n; err != nil {
			rc.cancel(nil)
		}
		return
	}
}

// unwatch ends the look-out. A byte it has read is the first of the next
// request or, after Hijack, of the client's data.
func (rc *requestContext) unwatch(x *exchange) {
	rc.wanted = false
	if x.conn == nil {
		return
	}
	if x.conn.sock != nil {
		x.conn.sock.watchEnd(nil)
		return
	}
	if rc.looking == nil {
		return
	}
	c := x.conn
	rc.stop.Store(true)
	c.nc.SetReadDeadline(longAgo)
	<-rc.looking
	rc.looking = nil
	c.nc.SetReadDeadline(noDeadline)
	if rc.got > 0 {
		x.space()[0] = c.first[0]
		x.got(1)
	}
}

// end ends the context with its request.
func (rc *requestContext) end(x *exchange) {
	rc.unwatch(x)
	rc.cancel(ErrEnded)
}
