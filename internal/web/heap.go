package web

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/show/text"
)

func init() {
	register(sitePage{"/heap", (*Server).heapPage, nav{45, "heap", "Heap", "/heap"}})
}

func (s *Server) heapPage(*http.Request) (*frame, error) {
	f := &frame{Section: "heap", Title: "Heap", main: templates()["empty"], Body: &empty{
		"A saved report says who holds the memory of a program, and what the collector pays for it. None was named: " +
			"save some, and start this with their files.",
		[]string{"isobar heap PID --save monday.heap", s.command("ui --heap monday.heap")}}}
	var lines []link
	for i, name := range s.config.Heaps {
		lines = append(lines, link{text.Clean(name), fmt.Sprintf("/heap/%d", i+1)})
	}
	if len(lines) > 0 {
		f.main, f.Body = templates()["heap"], lines
	}
	return f, nil
}

// serveHeap serves a report, whose style is inline.
func (s *Server) serveHeap(w http.ResponseWriter, name string) {
	var b bytes.Buffer
	report, err := heap.Load(name)
	if err == nil {
		err = report.Page(&b, heap.View{Share: 0.01}, s.config.Version)
	}
	if err != nil {
		s.write(w, errorFrame(err))
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}
