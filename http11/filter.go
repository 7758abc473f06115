package http11

import (
	"io"
	"sync"
)

// A filter is what handlers put between their content and the client; see
// Context.OnStream. It is used by whoever has the turn.
type filter []stage // the innermost first, which content comes to first

// A stage is what one function of a handler's returned.
type stage struct {
	to   io.WriteCloser
	sink *sink // what it writes to
}

// A sink passes on what a stage writes. It is for the stage only while the filter
// is used.
type sink struct {
	mu   sync.Mutex
	open bool      // guarded by mu
	to   io.Writer // the next stage, or the client
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return 0, ErrEnded
	}
	return s.to.Write(p)
}

func (f filter) open(open bool) {
	for _, s := range f {
		s.sink.mu.Lock()
		s.sink.open = open
		s.sink.mu.Unlock()
	}
}

// toClient is where the last stage writes to.
type toClient struct{ x *exchange }

func (c toClient) Write(p []byte) (int, error) {
	if c.x.head || !c.x.mayHaveContent() {
		return len(p), nil
	}
	return streamContent(c.x, p)
}

// streamFiltered is stream where handlers want to filter content.
func (c *exchange) streamFiltered() error {
	var collected []byte
	written := c.written
	if c.state == stateBody {
		if _, ok := c.recall(); ok {
			collected = c.r.base[baseContent]
		}
	}
	functions, served := c.onStream, c.served
	c.onStream = nil
	f := c.callOut(served, functions)
	if served && !c.served {
		return ErrEnded
	}
	if len(f) > 0 {
		c.declared = -1 // the handler does not know the length
		c.filter = f
	}
	if err := c.stream(); err != nil {
		return err
	}
	c.written = written
	var err error
	switch {
	case len(collected) == 0 || c.head:
	case c.filter != nil:
		_, err = c.filter.write(collected)
	default:
		_, err = toClient{c}.Write(collected)
	}
	return err
}

// callOut calls functions of handlers without the turn, so that they may use the
// Context: the last first, which is that of the innermost handler.
func (c *exchange) callOut(served bool, functions []func(io.Writer) io.WriteCloser) filter {
	if served {
		c.calling = true
		c.r.pass()
		defer func() { // also when a function panics
			c.r.reclaim()
			c.settled(&c.calling)
		}()
	}
	var f filter
	for i := len(functions) - 1; i >= 0; i-- {
		s := &sink{to: toClient{c}}
		if to := functions[i](s); to != nil {
			if n := len(f); n > 0 {
				f[n-1].sink.to = to
			}
			f = append(f, stage{to, s})
		}
	}
	return f
}

func (f filter) write(p []byte) (int, error) {
	f.open(true)
	defer f.open(false)
	return f[0].to.Write(p)
}

func (f filter) flush() error {
	f.open(true)
	defer f.open(false)
	for _, s := range f {
		if to, ok := s.to.(interface{ Flush() error }); ok {
			if err := to.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes every stage, and reports whether all content was sent.
func (f filter) close() bool {
	f.open(true)
	defer f.open(false)
	whole := true
	for _, s := range f {
		whole = s.to.Close() == nil && whole
	}
	return whole
}
