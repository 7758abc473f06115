package web

import "net/http"

func (s *Server) claimsPage(*http.Request) (*frame, error) {
	return &frame{Section: "claims", Title: "Claims", main: templates["empty"], Body: &empty{
		"What people write about the collector, tested on this machine. This measures it, and this page shows the verdicts.",
		[]string{"isobar claims run --quick", "isobar claims show"}}}, nil
}

func (s *Server) claimPage(r *http.Request) (*frame, error) { return s.claimsPage(r) }
