package http11

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A Context is a request and the response to it. It is its handler's until the
// handler returns: afterwards its methods return an error that wraps ErrEnded, or
// panic where they return none, and touch nothing. It must not be copied. Several
// goroutines may use it while the handler runs; each call is done by itself.
//
// What is written is collected and sent when the handler has returned, with its
// Content-Length; together with the responses to pipelined requests where there
// are some. A response that grows beyond 64 KB, or that is flushed, is sent as
// it is written: in chunks, unless the handler set Content-Length.
type Context struct{ Request }

// enter takes the turn; nil if the request has ended. Whoever has it ends it even
// when a panic passes: by a defer, unless what is done meanwhile cannot panic, as
// in the methods that most handlers call.
func (c *Context) enter() *exchange {
	open := c.epoch << turnShift
	if c.r.turn.CompareAndSwap(open, open|turnBusy) || c.r.enter(c.epoch, false) {
		return c.r.x
	}
	return nil
}

// respond is enter for what is about the response: it waits until what another
// goroutine sends has been sent.
func (c *Context) respond() *exchange {
	x := c.enter()
	for x != nil && x.writing {
		x = c.again(x)
	}
	return x
}

// receive is enter for what is about the body: it waits until what another
// goroutine reads has been read.
func (c *Context) receive() *exchange {
	x := c.enter()
	for x != nil && x.reading {
		x = c.again(x)
	}
	return x
}

// again lets who waits for the client go on, and takes the turn after that.
func (c *Context) again(x *exchange) *exchange {
	quiet := x.nextQuiet()
	x.exit()
	<-quiet
	return c.enter()
}

// must panics for an operation that has no error to return.
func (c *Context) must(x *exchange, op string) *exchange {
	if x == nil {
		panic(c.r.late(op).Error())
	}
	return x
}

// exit ends the turn that enter took.
func (c *exchange) exit() { c.r.pass() }

// done is exit where checking builds, whose checks panic, have a defer.
func (c *exchange) done() {
	if !invariant.Enabled {
		c.r.pass()
	}
}

// RemoteAddr returns the address of the client, nil if it is not known.
func (c *Context) RemoteAddr() net.Addr {
	x := c.must(c.enter(), "RemoteAddr")
	defer x.exit()
	return x.remoteAddr()
}

// Conn returns the connection for its addresses, its socket options by
// SyscallConn and, by a method ConnectionState, the state of TLS. It cannot be
// read, written or closed; Hijack is for that. It is nil if the request did not
// come by a connection of this server, and of use until the handler returns.
func (c *Context) Conn() net.Conn {
	x := c.must(c.enter(), "Conn")
	defer x.exit()
	if x.conn == nil {
		return nil
	}
	return &settings{c: *c}
}

// Hijack takes the connection over from the server: nothing is answered, and
// the caller reads, writes and closes it. buffered is what the client has sent
// beyond the head. Memory of the request is valid until the handler returns.
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
	case x.state >= stateStreamed:
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
		c.nc = nc // for its addresses: the descriptor of the socket is closed
	} else {
		c.srv.forget(c)            // first, as Shutdown sets deadlines of those it knows
		nc.SetDeadline(noDeadline) // an error shows in what the caller does
		if c.patient != nil {
			c.patient.fixed.Store(true) // deadlines are the caller's
		}
	}
	c.hijacked = true
	x.out = x.out[:0]
	x.state, x.mark = stateNone, 0
	x.bodyState, x.bodyErr = bodyWrecked, ErrHijacked
	return nc, append([]byte(nil), x.buf[x.next:]...), nil
}

// timedOut tells a time-out of reading.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// Context returns a context that ends when the handler returns, when the client
// has gone (it has closed the connection, or its side of it), and when the server
// is closed. To know, Readiness leaves the loop as MayBlock does, and Goroutines
// waits for the client in a goroutine once the body was read to its end; both
// only if Done or Err of the context is called.
func (c *Context) Context() context.Context {
	x := c.must(c.enter(), "Context")
	defer x.exit()
	return x.context(c, context.Background())
}

// SetReadDeadline has reads of the body fail after t, in place of
// Server.ReadBodyTimeout; never for the zero Time. It is also for a read that
// waits on another goroutine.
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

// SetWriteDeadline has writes of the response fail after t, in place of
// Server.WriteTimeout; never for the zero Time. It is also for a write that waits
// on another goroutine.
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

// SetMaxBodyBytes bounds the body of this request, in place of
// Server.MaxBodyBytes; a larger one makes reading it fail. It returns an error
// once reading has begun. A body that is announced as larger than Server.MaxBody
// or MaxBodyBytes allow is refused before the handler is called.
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

// Body reads the rest of the body into memory of the request and returns it.
// An error means that the body is malformed, too large, late or cut off; a
// handler that has written nothing then returns, and the server answers.
// A client that waits for 100 (Continue) is told to go on.
func (c *Context) Body() (View, error) {
	x := c.receive()
	if invariant.Enabled || x == nil || !x.arrived() {
		return c.readWhole(x, "Body", false)
	}
	v, err := x.wholeBody()
	x.exit()
	return v, err
}

// readWhole is Body after receive; asForm refuses what is no form before anything
// is read.
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

// BodyReader returns a reader of the body, or of what is left of it. Reading
// after the handler has returned is an error that wraps ErrEnded. Its other
// errors are those of Body.
func (c *Context) BodyReader() io.Reader { return (*bodyReader)(c) }

type bodyReader Context

func (b *bodyReader) Read(p []byte) (int, error) {
	c := (*Context)(b)
	x := c.receive()
	if x == nil {
		return 0, c.r.late("BodyReader.Read")
	}
	defer x.exit()
	if len(p) == 0 {
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
