package http11

import (
	"errors"
	"fmt"
	"net"
)

// An Engine says what runs handlers.
type Engine uint8

const (
	// Goroutines gives each connection a goroutine.
	Goroutines Engine = iota

	// Readiness has as many loops as GOMAXPROCS says wait for all connections,
	// and call handlers. A connection that waits for a request has no
	// goroutine. A handler that waits for its client (for a body, for room to
	// write), sends a file or hijacks leaves the loop by itself: another
	// goroutine goes on with the other connections. One that waits for anything
	// else must call [Context.MayBlock] first, or the other connections of its
	// loop wait too.
	//
	// Connections of TLS, and such as are not of package net, have a goroutine
	// each. The connections of Context.Conn are no *net.TCPConn, those of Hijack
	// are. It is for Linux; elsewhere Serve fails with errors.ErrUnsupported.
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

// MayBlock says that the handler may wait from now on for something that is
// not its client. With Readiness its goroutine leaves the loop, once for each
// call of the handler; otherwise it does nothing. A handler that waits, or
// computes, for longer than 10 ms without having called it is made to leave, is
// counted in Stats.Held, and logged once for each place. On Linux that is put off
// while the process has less CPU than it could use.
func (c *Context) MayBlock() {
	x := c.must(c.enter(), "MayBlock")
	defer x.exit()
	if x.conn != nil && x.conn.sock != nil {
		x.conn.sock.leave()
	}
}

// A looped is a connection of the engine Readiness as conn sees it.
type looped interface {
	net.Conn
	// leave makes this goroutine one that may wait.
	leave()
	// look has those who wait look at their deadlines.
	look()
	// hijack takes the connection from the loop.
	hijack() (net.Conn, error)
	// interrupt has those who wait, or are about to, wait no longer; interrupted
	// follows when they do not.
	interrupt(reading, writing bool)
	interrupted()
	// watchEnd has a function called when the client sends no more.
	watchEnd(*func())
}

// errLater says that a request has begun to arrive and the rest is not there
// yet. The loop will tell when there is more.
var errLater = errors.New("http11: the rest of the head is not there yet; wait for it")
