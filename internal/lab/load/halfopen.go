package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// halfOpen is a set of connections that have started a request and send no more.
type halfOpen struct {
	r     *run
	ctx   context.Context
	close func() // ends all connections
	wg    sync.WaitGroup

	// Counters; they synchronize nothing else.
	open, reopened atomic.Int64
}

// openHalf opens n half-open connections. The caller must close the result, even with an error.
func (r *run) openHalf(n int) (*halfOpen, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	h := &halfOpen{r: r, ctx: ctx}
	h.close = func() { cancel(); h.wg.Wait() }
	for range n {
		nc, drop, err := h.begin()
		if err != nil {
			return h, fmt.Errorf("load: half-open connections: %w; raise the limit of open files (ulimit -n), or ask for "+
				"fewer", err)
		}
		h.wg.Go(func() { h.hold(nc, drop) })
	}
	return h, nil
}

// begin opens a connection and sends the start of a head. drop closes the connection,
// and so does the end of ctx.
func (h *halfOpen) begin() (nc net.Conn, drop func(), err error) {
	if nc, err = h.r.connect(); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(h.ctx, func() { nc.Close() }) // ends the Read in hold
	h.open.Add(1)
	drop = func() {
		stop()
		nc.Close()
		h.open.Add(-1)
	}
	if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: half\r\nX-Half"); err != nil {
		drop()
		return nil, nil, err
	}
	return nc, drop, nil
}

// hold waits for the server to close the connection, then opens another, until
// the run has ended.
func (h *halfOpen) hold(nc net.Conn, drop func()) {
	for {
		var err error
		for b := make([]byte, 64); err == nil; { // until the server, or close, ends it
			_, err = nc.Read(b)
		}
		drop()
		if h.ctx.Err() != nil {
			return
		}
		if nc, drop, err = h.begin(); err != nil {
			return
		}
		h.reopened.Add(1)
	}
}
