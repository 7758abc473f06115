package web

import (
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// An adviceBody is the body of the page of advice, as drawn by 'isobar advise --save'.
type adviceBody struct {
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
		[]string{s.command("advise --bench . --save ./..."),
			s.command("advise --bench . --fix --verify --save ./...")}}}
	from, err := s.source.get()
	var saved store.Advice
	if err == nil {
		saved, err = from.Advice()
	}
	if errors.Is(err, store.ErrNotFound) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	parts, err := advice.FragmentOf(saved.Page)
	if err != nil {
		return nil, err
	}
	f.Title, f.main, f.Body = text.Clean(parts.Title), templates()["advice"], &adviceBody{saved.Created, parts.Parts}
	return f, nil
}
