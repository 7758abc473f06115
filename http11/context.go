package http11

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Context is a request and its response. It belongs to its handler until the
// handler returns. After that, methods return an error that wraps ErrEnded, or
// panic if they return no error, and touch nothing. A Context must not be
// copied. Several goroutines may use it while the handler runs; their calls are
// serialized.
//
// Content is collected and sent with its Content-Length when the handler
// returns, together with the responses to pipelined requests. A response that
// exceeds 64 KB or is flushed is streamed instead: in chunks, unless the
// handler set Content-Length.
type Context struct{ Request }

// enter takes the turn; nil if the request has ended. The caller must end the
// turn even on a panic: with a defer, or without one if nothing in between can
// panic, as in the most frequent methods.
func (c *Context) enter() *exchange {
	open := c.epoch << turnShift
	if c.r.turn.CompareAndSwap(open, open|turnBusy) || c.r.enter(c.epoch, false) {
		return c.r.x
	}
	return nil
}

// respond is enter for operations on the response: it first waits for another
// goroutine's send to finish.
func (c *Context) respond() *exchange {
	if open := c.epoch << turnShift; c.r.turn.CompareAndSwap(open, open|turnBusy) {
		if x := c.r.x; !x.writing {
			return x
		}
		c.r.pass()
	}
	x := c.enter()
	for x != nil && x.writing {
		x = c.again(x)
	}
	return x
}

// receive is enter for operations on the body: it first waits for another
// goroutine's read to finish.
func (c *Context) receive() *exchange {
	x := c.enter()
	for x != nil && x.reading {
		x = c.again(x)
	}
	return x
}

// again releases the turn for goroutines that wait for the client, then takes
// it again.
func (c *Context) again(x *exchange) *exchange {
	quiet := x.nextQuiet()
	x.exit()
	<-quiet
	return c.enter()
}

// must panics for an operation that returns no error.
func (c *Context) must(x *exchange, op string) *exchange {
	if x == nil {
		panic(c.r.late(op).Error())
	}
	return x
}

// exit ends the turn that enter took.
func (c *exchange) exit() { c.r.pass() }

// done is exit, except in checking builds: their checks panic, so they defer
// it.
func (c *exchange) done() {
	if !invariant.Enabled {
		c.r.pass()
	}
}

// RemoteAddr returns the client's address, or nil if unknown.
func (c *Context) RemoteAddr() net.Addr {
	x := c.must(c.enter(), "RemoteAddr")
	defer x.exit()
	return x.remoteAddr()
}

// Conn returns the connection for its addresses, its socket options through
// SyscallConn and its TLS state through a method ConnectionState. It cannot be
// read, written or closed; use Hijack for that. It is nil if the request did
// not arrive on a connection of this server. Valid until the handler returns.
func (c *Context) Conn() net.Conn {
	x := c.must(c.enter(), "Conn")
	defer x.exit()
	if x.conn == nil {
		return nil
	}
	return &settings{c: *c}
}

// Hijack takes the connection over from the server: the server sends no
// response, and the caller reads, writes and closes it. Only the head of a 2xx
// to CONNECT may have been sent, by Flush. buffered is what the
// client has sent beyond the head. Request memory stays valid until the handler
// returns.
func (c *Context) Hijack() (nc net.Conn, buffered []byte, err error) {
	x := c.respond()
	if x == nil {
		return nil, nil, c.r.late("Hijack")
	}
	defer x.exit()
	switch {
	case x.conn == nil:
		return nil, nil, ErrNoConn
	case x.conn.hijacked:
		return nil, nil, ErrHijacked
	case x.reading:
		return nil, nil, errors.New("http11: Hijack: another goroutine reads the body; wait for it")
	case x.calling:
		return nil, nil, errors.New("http11: Hijack: the response is about to be streamed; hijack before it")
	case x.state >= stateStreamed && (!x.tunnels() || x.filter != nil || x.writing):
		return nil, nil, errors.New("http11: Hijack: a part of the response was sent; hijack before it")
	}
	if err := x.sendEarlier(); err != nil {
		return nil, nil, err
	}
	return x.conn.hijack()
}

// hijack leaves the connection to the handler.
func (c *conn) hijack() (net.Conn, []byte, error) {
	x := &c.cx
	if x.ctx != nil {
		x.ctx.unwatch(x)
	}
	nc := c.nc
	if c.sock != nil {
		var err error
		if nc, err = c.sock.hijack(); err != nil {
			return nil, nil, fmt.Errorf("http11: Hijack: %w; answer instead", err)
		}
		c.nc = nc // for its addresses; the socket's descriptor is closed
	} else {
		c.srv.forget(c)            // first: Shutdown sets deadlines of registered connections
		nc.SetDeadline(noDeadline) // the caller's next read or write shows an error
		if c.patient != nil {
			c.patient.fixed.Store(true) // deadlines are the caller's
		}
		c.becomes(http.StateHijacked)
	}
	c.hijacked = true
	x.out = x.out[:0]
	x.state, x.mark = stateNone, 0
	x.bodyState, x.bodyErr = bodyWrecked, ErrHijacked
	return nc, append([]byte(nil), x.buf[x.next:]...), nil
}

// timedOut reports whether err is a read time-out.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// Context returns a context that ends when the handler returns, when the client
// closes the connection or its side of it, when writing to it fails, and when
// the server is closed. To detect a gone client, Readiness leaves the loop as
// MayBlock does, and Goroutines waits for the client in a goroutine once the
// body has been read to its end, or reading it has failed. Both happen only if
// Done or Err of the context is called.
func (c *Context) Context() context.Context {
	x := c.must(c.enter(), "Context")
	defer x.exit()
	return x.context(c)
}

// SetReadDeadline makes reads of the body fail after t, overriding
// Server.ReadBodyTimeout. The zero Time means never. It also applies to a read
// in progress on another goroutine.
func (c *Context) SetReadDeadline(t time.Time) error {
	x := c.enter()
	if x == nil {
		return c.r.late("SetReadDeadline")
	}
	defer x.exit()
	switch {
	case x.conn == nil:
		return x.mount.control().SetReadDeadline(t)
	case x.conn.hijacked:
		return ErrHijacked
	}
	x.readBy = x.srv.clock.deadlineAt(t)
	x.conn.newReadBy()
	return nil
}

// SetWriteDeadline makes writes of the response fail after t, overriding
// Server.WriteTimeout. The zero Time means never. It also applies to a write in
// progress on another goroutine.
func (c *Context) SetWriteDeadline(t time.Time) error {
	x := c.enter()
	if x == nil {
		return c.r.late("SetWriteDeadline")
	}
	defer x.exit()
	switch {
	case x.conn == nil:
		return x.mount.control().SetWriteDeadline(t)
	case x.conn.hijacked:
		return ErrHijacked
	}
	x.writeBy = x.srv.clock.deadlineAt(t)
	x.conn.newWriteBy()
	return nil
}

// SetMaxBodyBytes bounds the body of this request, overriding
// Server.MaxBodyBytes. Reading a larger body fails. It returns an error once
// reading has begun. If the announced length exceeds Server.MaxBody or
// MaxBodyBytes, the server refuses the request before it calls the handler.
func (c *Context) SetMaxBodyBytes(n int64) error {
	x := c.receive()
	if x == nil {
		return c.r.late("SetMaxBodyBytes")
	}
	defer x.exit()
	if x.bodyAsked {
		return errors.New("http11: SetMaxBodyBytes: a part of the body was read; call it before")
	}
	x.limitBody(n)
	return nil
}

// Body reads the rest of the body into request memory and returns it. An error
// means that the body is malformed, too large, late or cut off; a handler that
// has written nothing should then return, and the server answers. A client that
// waits for 100 (Continue) receives it.
func (c *Context) Body() (View, error) {
	x := c.receive()
	if invariant.Enabled || x == nil || !x.arrived() {
		return c.readWhole(x, "Body", false)
	}
	v, err := x.wholeBody()
	x.exit()
	return v, err
}

// readWhole is Body after receive. With asForm, it refuses a body that is not a
// form before it reads anything.
func (c *Context) readWhole(x *exchange, op string, asForm bool) (View, error) {
	if x == nil {
		return View{}, c.r.late(op)
	}
	defer x.exit()
	if asForm && !c.r.isForm() {
		return View{}, ErrNotForm
	}
	v, err := x.wholeBody()
	if err == ErrEnded {
		return View{}, c.r.late(op)
	}
	if x.ctx != nil {
		x.ctx.lookOut(x)
	}
	return v, err
}

// BodyReader returns a reader of the rest of the body. Reads after the handler
// has returned fail with an error that wraps ErrEnded. Other errors are those
// of Body.
func (c *Context) BodyReader() io.Reader { return (*bodyReader)(c) }

type bodyReader Context

func (b *bodyReader) Read(p []byte) (int, error) {
	c := (*Context)(b)
	x := c.receive()
	if x == nil {
		return 0, c.r.late("BodyReader.Read")
	}
	defer x.exit()
	if len(p) == 0 && x.bodyState != bodyDone {
		return 0, nil
	}
	n, err := x.readBody(p)
	if err == ErrEnded {
		return 0, c.r.late("BodyReader.Read")
	}
	if x.ctx != nil {
		x.ctx.lookOut(x)
	}
	return n, err
}
