package session

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// statusEvery is the time between lines if the output is not a terminal.
const statusEvery = 10 * time.Second

// A Status shows what a long command is doing: on a terminal in one changing line, elsewhere in
// a line every ten seconds, so that short commands stay silent. Call End when the work is done.
type Status struct {
	liveLine
	done  chan struct{}
	ended chan struct{}

	mu   sync.Mutex
	text string // guarded by mu
}

// NewStatus returns a status that writes to w.
func NewStatus(w io.Writer) *Status {
	s := &Status{liveLine: newLiveLine(w), done: make(chan struct{}), ended: make(chan struct{})}
	if s.width > 0 {
		close(s.ended)
	} else {
		go s.lines(time.Now())
	}
	return s
}

// Say replaces the text.
func (s *Status) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	s.say(text)
}

// End clears the terminal's line; nothing is written afterwards.
func (s *Status) End() {
	close(s.done)
	<-s.ended
	s.Clear()
}

func (s *Status) lines(began time.Time) {
	defer close(s.ended)
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case now := <-tick.C:
			s.mu.Lock()
			text := s.text
			s.mu.Unlock()
			if text != "" {
				fmt.Fprintf(s.w, "%v: %s\n", now.Sub(began).Round(time.Second), text)
			}
		}
	}
}
