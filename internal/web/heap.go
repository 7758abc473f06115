package web

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

func init() {
	register(sitePage{"/heap", (*Server).heapPage, nav{45, "heap", "Heap", "/heap"}})
	register(sitePage{"/heap/{report}", (*Server).heapReport, nav{}})
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

func (s *Server) heapReport(r *http.Request) (*frame, error) {
	n, err := strconv.Atoi(r.PathValue("report"))
	if err != nil || n < 1 || n > len(s.config.Heaps) {
		return nil, errNoPage
	}
	report, err := heap.Load(s.config.Heaps[n-1])
	if err != nil {
		return nil, err
	}
	sheet, main, err := report.Parts(heap.View{Share: 0.01})
	if err != nil {
		return nil, err
	}
	return &frame{Section: "heap", Back: &link{"Heap", "/heap"}, main: templates()["html"],
		Report: &page.Page{Sheet: *sheet}, Body: main}, nil
}
