package http11

import (
	"io"
	"sync"
)

// A filter is what a handler puts between its content and the client; see
// Context.OnStream. It is used by whoever has the turn.
type filter struct {
	x    *exchange
	to   io.WriteCloser
	sink *sink
}

// A sink sends what a filter writes. It is for the filter only while the filter
// itself is called.
type sink struct {
	mu sync.Mutex
	x  *exchange // nil while the filter is not called; guarded by mu
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.x == nil {
		return 0, ErrEnded
	}
	return streamContent(s.x, p)
}

func (s *sink) set(x *exchange) {
	s.mu.Lock()
	s.x = x
	s.mu.Unlock()
}

// streamFiltered is stream where the handler wants to filter content. It calls
// the handler's function without the turn, so that it may use the Context.
func (c *exchange) streamFiltered() error {
	var collected []byte
	written := c.written
	if c.state == stateBody {
		c.recall()
		collected = c.r.base[baseContent]
	}
	f, served := c.onStream, c.served
	c.onStream = nil
	s := &sink{}
	to := c.callOut(served, func() io.WriteCloser { return f(s) })
	if served && !c.served {
		return ErrEnded
	}
	if to != nil {
		c.declared = -1 // the handler does not know the length
		c.filter = &filter{x: c, to: to, sink: s}
	}
	if err := c.stream(); err != nil {
		return err
	}
	c.written += written
	if len(collected) == 0 {
		return nil
	}
	var err error
	if c.filter != nil {
		_, err = c.filter.write(collected)
	} else {
		_, err = streamContent(c, collected)
	}
	return err
}

// callOut calls a function of the handler's without the turn.
func (c *exchange) callOut(served bool, f func() io.WriteCloser) io.WriteCloser {
	if served {
		c.calling = true
		c.r.pass()
		defer func() { // also when f panics
			c.r.reclaim()
			c.settled(&c.calling)
		}()
	}
	return f()
}

func (f *filter) write(p []byte) (int, error) {
	f.sink.set(f.x)
	defer f.sink.set(nil)
	return f.to.Write(p)
}

func (f *filter) flush() error {
	f.sink.set(f.x)
	defer f.sink.set(nil)
	if to, ok := f.to.(interface{ Flush() error }); ok {
		return to.Flush()
	}
	return nil
}

// close reports whether all content was sent.
func (f *filter) close() bool {
	f.sink.set(f.x)
	defer f.sink.set(nil)
	return f.to.Close() == nil
}
