package http11

import "errors"

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

// A readError says that a body could not be read to its end.
type readError struct{ err error }

func (e *readError) Error() string {
	return "http11: read body: " + e.err.Error() + "; the connection is closed"
}

func (e *readError) Unwrap() error { return e.err }
