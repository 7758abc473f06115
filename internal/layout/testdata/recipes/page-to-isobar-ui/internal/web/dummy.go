package web

import "net/http"

func init() {
	register(sitePage{"/dummy", (*Server).dummyPage, nav{99, "dummy", "Dummy", "/dummy"}})
}

func (s *Server) dummyPage(*http.Request) (*frame, error) {
	return &frame{Section: "dummy", Title: "Dummy", main: templates()["dummy"],
		Body: &empty{"Nothing to show.", []string{s.command("lab")}}}, nil
}
