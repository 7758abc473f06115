package web

import (
	"errors"
	"net/http"

	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
)

// A ledgerBody is the body of the page of claims.
type ledgerBody struct {
	Ledger *page.Ledger
	Empty  *empty // if none has been measured
}

// A ledgerState is the ledger as of the newest run in the store.
type ledgerState struct {
	from    *store.Store
	newest  int64
	records int
	page    *page.Ledger
	empty   bool
}

func init() {
	register(sitePage{"/claims", (*Server).claimsPage, nav{30, "claims", "Claims", "/claims"}})
}

func (s *Server) claimsPage(*http.Request) (*frame, error) {
	var now ledgerState
	from, err := s.source.get()
	if err == nil {
		var run store.Run
		run, err = from.Last()
		now = ledgerState{from: from, newest: run.ID, records: run.Finished + run.Failed}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	s.mu.Lock()
	known := s.ledger
	s.mu.Unlock()
	if known.page == nil || known.from != now.from || known.newest != now.newest || known.records != now.records {
		ledger, err := s.config.Ledger()
		if err != nil {
			return nil, err
		}
		now.page, now.empty = page.NewLedger(ledger), ledger.Created.IsZero()
		known = now
		s.mu.Lock()
		s.ledger = now
		s.mu.Unlock()
	}
	body := &ledgerBody{Ledger: known.page}
	if known.empty {
		body.Empty = &empty{"What the source documents say about the collector and its remedies, tested on this machine. " +
			"Nothing has been measured here yet. This takes at most 12 minutes on 2 CPUs.",
			[]string{s.command("claims run --quick")}}
	}
	return &frame{Section: "claims", Title: "Claims", main: templates()["claims"], Body: body}, nil
}
