package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

func init() {
	register(sitePage{"/{$}", (*Server).runsPage, nav{10, "runs", "Runs", "/"}})
	register(sitePage{"/compare", (*Server).comparePage, nav{20, "compare", "Compare", "/compare"}})
	register(sitePage{"/run/{run}", (*Server).runPage, nav{}})
	register(sitePage{"/run/{run}/cell/{cell}", (*Server).cellPage, nav{}})
}

// pageRuns is the number of runs on a page of the list.
const pageRuns = 50

// An empty is the body of a page with nothing to show yet: what it will show, and the
// commands that lead there.
type empty struct {
	Text     string
	Commands []string
}

// A runLine is a run in a list.
type runLine struct {
	ID                           int64
	Name, Started, Cells, Status string
	Done, Total                  int
	A, B                         bool // chosen for a comparison
}

func lineOf(r store.Run) runLine {
	return runLine{ID: r.ID, Name: text.Clean(r.Name), Started: r.Created.UTC().Format("2006-01-02 15:04 UTC"),
		Done: r.Finished + r.Failed, Total: r.Total,
		Cells: fmt.Sprintf("%d of %d", r.Finished+r.Failed, r.Total), Status: r.Status()}
}

// A runList is the body of the list of runs.
type runList struct {
	Empty         *empty
	Filter        string
	Count         int
	Runs          []runLine
	Older, Newest string // addresses; "" for none
}

func (s *Server) runsPage(r *http.Request) (*frame, error) {
	query := r.URL.Query()
	body := &runList{Filter: query.Get("q")}
	f := &frame{Section: "runs", Title: "Runs", main: templates()["runs"], Body: body}
	from, err := s.source.get()
	if errors.Is(err, store.ErrNotFound) {
		body.Empty = s.noRuns()
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	var before int64
	if text := query.Get("before"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return nil, fmt.Errorf("web: before=%q: %w: want a number from 1 upwards", text, errBadRequest)
		}
	}
	runs, older, err := from.Browse(before, body.Filter, pageRuns)
	if err != nil {
		return nil, err
	}
	if body.Count, err = from.Count(); err != nil {
		return nil, err
	}
	if body.Count == 0 {
		body.Empty = s.noRuns()
		return f, nil
	}
	for _, run := range runs {
		body.Runs = append(body.Runs, lineOf(run))
	}
	if len(runs) > 1 {
		body.Runs[1].A, body.Runs[0].B = true, true
	}
	values := url.Values{}
	if body.Filter != "" {
		values.Set("q", body.Filter)
	}
	if before > 0 {
		body.Newest = "/?" + values.Encode()
	}
	if older {
		values.Set("before", fmt.Sprint(runs[len(runs)-1].ID))
		body.Older = "/?" + values.Encode()
	}
	return f, nil
}

func (s *Server) noRuns() *empty {
	return &empty{"Nothing has been measured yet. The quick study takes at most three minutes; this page follows it.",
		[]string{s.command("lab"), s.command("lab run exec --gc default,400,off -- ./yourprogram")}}
}

// find returns the store and a run in it, given by number or as "last".
func (s *Server) find(id string) (*store.Store, store.Run, error) {
	from, err := s.source.get()
	if err != nil {
		return nil, store.Run{}, err
	}
	run, err := session.FindRun(from, id)
	return from, run, err
}

// view reads the reader's display options from the address.
func view(r *http.Request) (page.View, error) {
	query := r.URL.Query()
	v := page.View{Exact: query.Get("units") == "base"}
	for name, at := range map[string]*time.Duration{"from": &v.From, "to": &v.To} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ms >= 0 && ms < 1e12) {
			return v, fmt.Errorf("web: %s=%q: %w: want milliseconds", name, text, errBadRequest)
		}
		*at = time.Duration(ms * 1e6)
	}
	return v, nil
}

// units returns the link that switches between scaled units and all digits in
// base units.
func units(r *http.Request, v page.View) link {
	query := r.URL.Query()
	name := "All digits, in base units"
	if query.Set("units", "base"); v.Exact {
		name = "Scaled units"
		query.Del("units")
	}
	to := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
	return link{name, to.String()}
}

// A runBody is what a run's page adds to the report.
type runBody struct {
	runLine
	Links  []link
	Resume string
	Cells  []configLine
	More   int // cells not listed
}

// A configLine is a configuration with its cells.
type configLine struct {
	Key   string
	Cells []cellLink
}

type cellLink struct {
	Index, Repetition int
	State             string // "" if finished
}

// listedCells is the maximum number of cells that a run's page links to.
const listedCells = 4000

func (s *Server) runPage(r *http.Request) (*frame, error) {
	v, err := view(r)
	if err != nil {
		return nil, err
	}
	run, analysis, err := s.load(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	stored := run.Meta
	base := fmt.Sprintf("/run/%d", stored.ID)
	body := &runBody{runLine: lineOf(stored),
		Links: []link{units(r, v), {"Compare with another run", fmt.Sprintf("/compare?b=%d", stored.ID)},
			{"Save as one file", base + "/report.html"}}}
	if body.Status == "unfinished" {
		body.Resume = s.command(stored.Resume())
	}
	body.Cells, body.More = cellLinks(run)
	report := page.New(run.Run, analysis, v)
	report.List(true, "cells", "Cells")
	return &frame{Section: "runs", main: templates()["run"], Report: report, Body: body, Back: &link{"Runs", "/"}}, nil
}

func cellLinks(run session.Run) (lines []configLine, more int) {
	ordered := slices.SortedStableFunc(slices.Values(run.Plan), func(a, b cell.Cell) int {
		return cmp.Or(a.Order-b.Order, a.Block-b.Block)
	})
	listed := ordered[:min(len(ordered), listedCells)]
	for _, cells := range stat.Split(listed, cell.Cell.Key) {
		line := configLine{Key: text.Clean(cell.Readable(cells[0].Key()))}
		for _, c := range cells {
			state := ""
			if failed, measured := run.Failed[c.Index]; !measured {
				state = "pending"
			} else if failed {
				state = "failed"
			}
			line.Cells = append(line.Cells, cellLink{Index: c.Index, Repetition: c.Block + 1, State: state})
		}
		lines = append(lines, line)
	}
	return lines, len(ordered) - len(listed)
}

// A cellBody is what a cell's page adds to the report.
type cellBody struct {
	Previous, Next *link
	Links          []link
	Exact          bool
	Pending        bool
	Resume         string
}

func (s *Server) cellPage(r *http.Request) (*frame, error) {
	v, err := view(r)
	if err != nil {
		return nil, err
	}
	from, run, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	index, err := strconv.Atoi(r.PathValue("cell"))
	if err != nil {
		return nil, fmt.Errorf("web: cell %q: %w: want its number, from 0 upwards", r.PathValue("cell"), errBadRequest)
	}
	c, rec, err := from.Cell(run.ID, index)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("/run/%d", run.ID)
	body := &cellBody{Exact: v.Exact, Pending: rec == nil, Links: []link{units(r, v)}}
	if index > 0 {
		body.Previous = &link{"Cell " + strconv.Itoa(index-1), fmt.Sprintf("%s/cell/%d", base, index-1)}
	}
	if index+1 < run.Total {
		body.Next = &link{"Cell " + strconv.Itoa(index+1), fmt.Sprintf("%s/cell/%d", base, index+1)}
	}
	f := &frame{Section: "runs", main: templates()["cell"], Body: body, Back: &link{fmt.Sprintf("Run %d", run.ID), base}}
	if rec == nil {
		f.Title = fmt.Sprintf("Cell %d of run %d", index, run.ID)
		body.Resume = s.command(run.Resume())
		f.Report = &page.Page{Sheet: page.Sheet{Name: text.Clean(cell.Readable(c.Key()))}}
		return f, nil
	}
	f.Report, err = page.NewCell(run, rec, v)
	return f, err
}

// A compareBody is what a comparison's page adds to the report.
type compareBody struct {
	A, B  string
	Links []link
	Empty *empty
}

func (s *Server) comparePage(r *http.Request) (*frame, error) {
	query := r.URL.Query()
	v, err := view(r)
	if err != nil {
		return nil, err
	}
	body := &compareBody{A: query.Get("a"), B: query.Get("b")}
	f := &frame{Section: "compare", Title: "Compare two runs", main: templates()["compare"], Body: body}
	if body.A == "" || body.B == "" {
		body.Empty = &empty{"Choose two runs by their numbers. The comparison covers the configurations that both have, " +
			"paired by repetition. A difference counts if the interval, a rank test and the noise floor of both runs agree.",
			[]string{s.command("lab list"), s.command("lab compare A B")}}
		return f, nil
	}
	var metas [2]store.Run
	var sides [2]*stat.Analysis
	for i, id := range []string{body.A, body.B} {
		run, analysis, err := s.load(id)
		if err != nil {
			return nil, err
		}
		metas[i], sides[i] = run.Meta, analysis
	}
	onlyA, onlyB := stat.Unmatched(sides[0], sides[1])
	f.Report = page.NewComparison(metas[0], metas[1], stat.CompareRuns(sides[0], sides[1]), onlyA, onlyB, v)
	f.Title = f.Report.Name
	swapped := url.Values{"a": {body.B}, "b": {body.A}}
	body.Links = []link{units(r, v), {"Swap A and B", "/compare?" + swapped.Encode()},
		{fmt.Sprintf("Run %d (A)", metas[0].ID), fmt.Sprintf("/run/%d", metas[0].ID)},
		{fmt.Sprintf("Run %d (B)", metas[1].ID), fmt.Sprintf("/run/%d", metas[1].ID)}}
	return f, nil
}
