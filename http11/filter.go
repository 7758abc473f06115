package http11

import (
	"io"
	"sync"
)

// A filter holds the writers that handlers put between their content and the
// client; see Context.OnStream. The turn guards it.
type filter struct {
	stages []stage // innermost first; content enters there

	// buf is the collector's memory and this response's alone. Content is copied
	// into it, as a writer may keep what it receives, and the memory of requests
	// and of handlers is soon another client's.
	buf []byte
}

// filterBytes are how much a filter is given at a time, as io.Copy does.
const filterBytes = 32 << 10

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

func (f *filter) open(open bool) {
	for _, s := range f.stages {
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
	if f != nil {
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
		_, err = filterContent(c.filter, collected)
	default:
		_, err = toClient{c}.Write(collected)
	}
	return err
}

// callOut calls functions of handlers without the turn, so that they may use
// the Context. It starts with the last, which belongs to the innermost handler.
func (c *exchange) callOut(served bool, functions []func(io.Writer) io.WriteCloser) *filter {
	if served {
		c.calling = true
		c.r.pass()
		defer func() { // even if a function panics
			c.r.reclaim()
			c.settled(&c.calling)
		}()
	}
	var stages []stage
	for i := len(functions) - 1; i >= 0; i-- {
		s := &sink{to: toClient{c}}
		if to := functions[i](s); to != nil {
			if n := len(stages); n > 0 {
				stages[n-1].sink.to = to
			}
			stages = append(stages, stage{to, s})
		}
	}
	if stages == nil {
		return nil
	}
	return &filter{stages: stages}
}

// filterContent writes p to the first stage of f.
func filterContent[T string | []byte](f *filter, p T) (n int, err error) {
	f.open(true)
	defer f.open(false)
	for err == nil && n < len(p) {
		f.buf = append(f.buf[:0], p[n:min(len(p), n+filterBytes)]...)
		var wrote int
		wrote, err = f.stages[0].to.Write(f.buf)
		n += wrote
		if err == nil && wrote < len(f.buf) {
			err = io.ErrShortWrite
		}
	}
	return n, err
}

func (f *filter) flush() error {
	f.open(true)
	defer f.open(false)
	for _, s := range f.stages {
		if to, ok := s.to.(interface{ Flush() error }); ok {
			if err := to.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes every stage, and reports whether all content was sent.
func (f *filter) close() bool {
	f.open(true)
	defer f.open(false)
	whole := true
	for _, s := range f.stages {
		whole = s.to.Close() == nil && whole
	}
	return whole
}
