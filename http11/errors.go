package http11

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Errors that handlers may want to distinguish. Returned errors are these or
// wrap them.
var (
	ErrEnded          = errors.New("the request has ended; use it in the handler, copy what is needed, or Retain it")
	ErrHeadWritten    = errors.New("http11: the head is complete; set status and header before the first Write, or Reset")
	ErrBodyNotAllowed = errors.New("http11: Write: this response has no content, by its status or method; write nothing")
	ErrContentLength  = errors.New("http11: Write: more than the declared Content-Length; declare what is written")
	ErrHijacked       = errors.New("http11: the connection was hijacked; use what Hijack returned")
	ErrNotForm        = errors.New("http11: FormValues: the body is not a URL-encoded form; answer 415, or use Body")
	ErrNoConn         = errors.New("http11: Hijack: the request came by no connection of this server; use http11.Server")
)

var errClientGone = &writeError{errors.New("an earlier write failed")}

// A writeError says that a response could not be sent.
type writeError struct{ err error }

func (e *writeError) Error() string {
	return "http11: write response: " + e.err.Error() + "; the connection is closed"
}

func (e *writeError) Unwrap() error { return e.err }

// Timeout and Temporary make writeError and readError net.Errors, as handlers of
// net/http expect.
func (e *writeError) Timeout() bool   { return timedOut(e.err) }
func (e *writeError) Temporary() bool { return timedOut(e.err) }

// A readError says that a body could not be read to its end.
type readError struct{ err error }

func (e *readError) Error() string {
	return "http11: read body: " + e.err.Error() + "; the connection is closed"
}

func (e *readError) Unwrap() error   { return e.err }
func (e *readError) Timeout() bool   { return timedOut(e.err) }
func (e *readError) Temporary() bool { return timedOut(e.err) }

// opError returns err with what package net adds to an errno.
func (c *conn) opError(op string, err error) error {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return err
	}
	local, remote := c.nc.LocalAddr(), c.nc.RemoteAddr()
	network := ""
	if remote != nil {
		network = remote.Network()
	}
	return &net.OpError{Op: op, Net: network, Source: local, Addr: remote, Err: os.NewSyscallError(op, errno)}
}

// clientGone is the error of writes after a failed one.
func (c *exchange) clientGone() error {
	if c.failed == nil {
		return errClientGone
	}
	return &writeError{c.failed}
}
