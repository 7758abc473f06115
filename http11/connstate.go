package http11

import (
	"net"
	"net/http"
)

// becomes tells Server.ConnState.
func (s *Server) becomes(nc net.Conn, state http.ConnState) {
	if s.ConnState != nil {
		s.ConnState(nc, state)
	}
}

// becomes tells Server.ConnState, which knows a connection of a loop by its handle.
func (c *conn) becomes(state http.ConnState) {
	if c.sock != nil {
		c.srv.becomes(c.sock.handle(), state)
		return
	}
	c.srv.becomes(c.nc, state)
}

// nowActive is called when bytes have arrived.
func (c *conn) nowActive() {
	if !c.active { // otherwise it is more of the same head
		c.active = true
		c.becomes(http.StateActive)
	}
}

// nowIdle is called when everything that has arrived is answered, and the answers are sent.
func (c *conn) nowIdle() {
	c.active = false
	c.becomes(http.StateIdle)
}
