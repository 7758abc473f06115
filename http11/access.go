package http11

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// An Access describes a request that has begun and how it ended, for an access
// log. The function it is passed to may read the request during the call.
type Access struct {
	Request  Request
	Remote   net.Addr
	Status   int
	Bytes    int64         // of content written by the handler
	Sent     int64         // of the response with its head, as taken by the kernel
	Duration time.Duration // from the end of the head to the end of the response
	End      End
	Err      error // why the response or the body is incomplete; nil if both are complete
}

// An End says how a request ended.
type End uint8

const (
	EndAnswered End = iota // the handler returned and the response is complete
	EndRefused             // malformed, beyond a limit, or late: the server answered
	EndPanicked            // the handler panicked
	EndAborted             // the handler panicked with http.ErrAbortHandler
	EndHijacked            // the handler took the connection over
	EndCut                 // the response or the body was cut off
)

func (e End) String() string {
	names := [...]string{"answered", "refused", "panicked", "aborted", "hijacked", "cut"}
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("End(%d)", uint8(e))
}

// LogTo returns a function for Server.Access that logs each request at level
// Info.
func LogTo(log *slog.Logger) func(*Access) {
	return func(a *Access) {
		attrs := []slog.Attr{
			slog.String("method", a.Request.Method().String()),
			slog.String("target", a.Request.Target().String()),
			slog.String("host", a.Request.Host().String()),
			slog.String("remote", fmt.Sprint(a.Remote)),
			slog.Int("status", a.Status),
			slog.Int64("bytes", a.Bytes),
			slog.Int64("sent", a.Sent),
			slog.Duration("duration", a.Duration),
			slog.String("end", a.End.String()),
		}
		if a.Err != nil {
			attrs = append(attrs, slog.String("error", a.Err.Error()))
		}
		log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
	}
}

// errShort says that the handler wrote less than it declared.
var errShort = errors.New("http11: the handler wrote less than the declared Content-Length; the connection is closed")

// logSent sends the response and calls the access log.
func (c *conn) logSent(ok, whole bool) {
	c.flush() // failed keeps an error
	end := EndAnswered
	switch {
	case !ok:
		end = EndPanicked
	case !whole:
		end = EndCut
		if c.cx.failed == nil {
			c.cx.failed = errShort
		}
	case c.cx.failed != nil || c.cx.bodyErr != nil:
		end = EndCut
	}
	c.log(end)
}

// log calls the access log.
func (c *conn) log(end End) {
	if c.srv.Access == nil {
		return
	}
	x := &c.cx
	err := x.failed
	if err == nil && end != EndHijacked {
		err = x.bodyErr
	}
	x.lend(func(q Request) {
		c.srv.Access(&Access{
			Request: q, Remote: c.nc.RemoteAddr(), Status: x.status, Bytes: x.written, Sent: c.sent - x.sent,
			Duration: time.Since(x.began), End: end, Err: err,
		})
	})
}

// lend lets f read the request after the handler has returned.
func (c *exchange) lend(f func(Request)) {
	r := c.r
	kept := r.turn.Load()&turnKept != 0
	r.pass()
	defer func() { // even if f panics
		r.reclaim()
		if !kept {
			r.next()
		}
	}()
	f(Request{r, r.epoch()})
}

func logPanic(v any, stack []byte) {
	slog.Error("http11: a handler panicked", "value", v, "stack", string(stack))
}
