package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// halfOpen is a set of connections that have begun a request and send no more.
type halfOpen struct {
	r  *run
	wg sync.WaitGroup

	// Counters; they synchronize nothing else.
	open, reopened atomic.Int64

	mu     sync.Mutex
	conns  map[net.Conn]bool // guarded by mu
	closed bool              // guarded by mu
}

// openHalf opens n of them. Even with an error, the caller must close the
// result.
func (r *run) openHalf(n int) (*halfOpen, error) {
	h := &halfOpen{r: r, conns: make(map[net.Conn]bool, n)}
	for range n {
		nc, err := h.begin()
		if err != nil {
			return h, fmt.Errorf("load: half-open connections: %w; raise the limit of open files (ulimit -n), or ask for "+
				"fewer", err)
		}
		h.wg.Go(func() { h.hold(nc) })
	}
	return h, nil
}

var errEnded = errors.New("the run has ended")

// begin opens a connection and sends the start of a head.
func (h *halfOpen) begin() (net.Conn, error) {
	nc, err := h.r.connect()
	if err != nil {
		return nil, err
	}
	if !h.add(nc) {
		nc.Close()
		return nil, errEnded
	}
	if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: half\r\nX-Half"); err != nil {
		h.drop(nc)
		return nil, err
	}
	return nc, nil
}

// add reports false once the run has ended.
func (h *halfOpen) add(nc net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns[nc] = true
	h.open.Add(1)
	return true
}

func (h *halfOpen) drop(nc net.Conn) {
	h.mu.Lock()
	delete(h.conns, nc)
	h.mu.Unlock()
	nc.Close()
	h.open.Add(-1)
}

// hold waits for the server to close the connection, then opens another.
// Dialing fails once the run has ended.
func (h *halfOpen) hold(nc net.Conn) {
	for {
		var err error
		for b := make([]byte, 64); err == nil; { // until the server, or close, ends it
			_, err = nc.Read(b)
		}
		h.drop(nc)
		next, err := h.begin()
		if err != nil {
			return
		}
		h.reopened.Add(1)
		nc = next
	}
}

// close ends all connections.
func (h *halfOpen) close() {
	h.mu.Lock()
	h.closed = true
	for nc := range h.conns {
		nc.Close() // ends the Read in hold
	}
	h.mu.Unlock()
	h.wg.Wait()
}
