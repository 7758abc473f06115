package web

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Watched is a running process that has a live page.
type Watched struct {
	Name  string // its name on the command line
	Relay *live.Relay
}

// A watchedLine is a process in the list.
type watchedLine struct{ Name, Href, State string }

func (s *Server) watchedLines() (lines []watchedLine) {
	for i, w := range s.config.Watched {
		lines = append(lines, watchedLine{text.Clean(w.Name), fmt.Sprintf("/live/%d/", i+1), text.Clean(w.Relay.State())})
	}
	return lines
}
