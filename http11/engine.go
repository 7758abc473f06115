package http11

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// An Engine selects what runs handlers.
type Engine uint8

const (
	// Goroutines gives each connection a goroutine.
	Goroutines Engine = iota

	// Readiness runs GOMAXPROCS loops that wait for all connections and call
	// handlers. A connection that waits for a request has no goroutine. A handler
	// that waits for its client (for a body, for room to write), sends a file or
	// hijacks leaves the loop automatically: another goroutine continues with the
	// other connections. A handler that waits for anything else must call
	// [Context.MayBlock] first, or the other connections of its loop wait too.
	//
	// TLS connections, and those not of package net, have a goroutine each.
	// Context.Conn does not return a *net.TCPConn; Hijack does. A connection that
	// the listener has returned is closed, and served by a duplicate. In a bubble of
	// testing/synctest use Goroutines: loops never block durably. Linux only;
	// elsewhere Serve fails with errors.ErrUnsupported.
	Readiness
)

func (e Engine) String() string {
	switch e {
	case Goroutines:
		return "goroutines"
	case Readiness:
		return "readiness"
	}
	return fmt.Sprintf("Engine(%d)", uint8(e))
}

// MayBlock announces that the handler may wait from now on for something other
// than its client. With Readiness its goroutine leaves the loop, once per call
// of the handler; otherwise it does nothing. A handler that waits or computes
// for longer than 10 ms without calling it is forced to leave, counted in
// Stats.Held, and logged once per place. On Linux this is postponed while the
// process has less CPU than it could use.
func (c *Context) MayBlock() {
	x := c.must(c.enter(), "MayBlock")
	defer x.exit()
	if x.conn != nil && x.conn.sock != nil {
		x.conn.sock.leave()
	}
}

// A looped is a connection of the engine Readiness, as conn sees it.
type looped interface {
	net.Conn
	// context returns what Server.ConnContext returned.
	context() context.Context
	// handle is what Server.ConnState gets.
	handle() net.Conn
	// leave makes this a goroutine that may wait.
	leave()
	// look makes waiting goroutines check their deadlines.
	look()
	// hijack takes the connection from the loop.
	hijack() (net.Conn, error)
	// interrupt wakes goroutines that wait or are about to; interrupted undoes it
	// once none waits.
	interrupt(reading, writing bool)
	interrupted()
	// watchEnd registers a function to call when the client stops sending.
	watchEnd(*func())
}

// errLater says that a request has begun to arrive but is incomplete. The loop
// reports when there is more.
var errLater = errors.New("http11: the rest of the head is not there yet; wait for it")
