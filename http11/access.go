package http11

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// An Access is what an access log may say about a request and its response. Its
// views are valid during the call that it is passed to.
type Access struct {
	Request  Request
	Remote   net.Addr
	Status   int
	Bytes    int64         // of content
	Duration time.Duration // from the end of the head to the end of the handler
}

// LogTo returns a function for Server.Access that writes a record at level Info
// for each request.
func LogTo(log *slog.Logger) func(*Access) {
	return func(a *Access) {
		log.LogAttrs(context.Background(), slog.LevelInfo, "request",
			slog.String("method", a.Request.Method().String()),
			slog.String("target", a.Request.Target().String()),
			slog.String("host", a.Request.Host().String()),
			slog.String("remote", a.Remote.String()),
			slog.Int("status", a.Status),
			slog.Int64("bytes", a.Bytes),
			slog.Duration("duration", a.Duration))
	}
}

// log calls the access log.
func (c *conn) log() {
	if c.srv.Access == nil {
		return
	}
	c.cx.access = Access{c.cx.Request, c.nc.RemoteAddr(), c.cx.status, c.cx.written, time.Since(c.cx.began)}
	c.srv.Access(&c.cx.access)
}

func logPanic(v any, stack []byte) {
	slog.Error("http11: a handler panicked", "value", v, "stack", string(stack))
}
