package http11

import (
	"io"
	"sync"
)

// A filter holds the writers that handlers put between their content and the
// client; see Context.OnStream. The turn guards it.
type filter []stage // innermost first; content enters there

// A stage is what one function passed to OnStream returned.
type stage struct {
	to   io.WriteCloser
	sink *sink // what it writes to
}

// A sink forwards what a stage writes. The stage may use it only while the
// filter runs.
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

// toClient is the destination of the last stage.
type toClient struct{ x *exchange }

func (c toClient) Write(p []byte) (int, error) {
	if c.x.head || !c.x.mayHaveContent() {
		return len(p), nil
	}
	return streamContent(c.x, p)
}

// streamFiltered is stream with handlers that filter content.
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
		c.declared = -1 // the handler cannot know the filtered length
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

// callOut calls functions of handlers without the turn, so that they may use
// the Context. It starts with the last, which belongs to the innermost handler.
func (c *exchange) callOut(served bool, functions []func(io.Writer) io.WriteCloser) filter {
	if served {
		c.calling = true
		c.r.pass()
		defer func() { // even if a function panics
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
