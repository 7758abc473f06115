package web

import (
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// An Advice is a page about a module, drawn by the owner of the advice.
type Advice struct {
	Title   string
	Created time.Time
	Parts   template.HTML // facts, contents and main part
}

func init() {
	register(sitePage{"/advice", (*Server).advicePage, nav{40, "advice", "Advice", "/advice"}})
}

func (s *Server) advicePage(*http.Request) (*frame, error) {
	f := &frame{Section: "advice", Title: "Advice", main: templates()["empty"], Body: &empty{
		"Advice is about the lines of a module that allocate. This store has none yet: run this in " +
			"the module. The second command tries each fix in a copy and measures it.",
		[]string{"isobar advise --bench . --save ./...", "isobar advise --bench . --fix --verify --save ./..."}}}
	if s.config.Advice == nil {
		return f, nil
	}
	from, err := s.source.get()
	if errors.Is(err, store.ErrNotFound) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	advice, err := s.config.Advice(from)
	if err != nil {
		return nil, err
	}
	if advice != nil {
		f.Title, f.main, f.Body = text.Clean(advice.Title), templates()["advice"], advice
	}
	return f, nil
}
