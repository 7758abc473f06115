package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// liveRuns is how many of the newest runs the live page checks.
const liveRuns = 20

// A liveBody is the body of the live page.
type liveBody struct {
	Runs    []runLine
	Lab     *empty // if no run is unfinished
	Watched []watchedLine
	Process *empty // if no process is watched
}

func init() {
	register(sitePage{"/live", (*Server).livePage, nav{50, "live", "Live", "/live"}})
}

func (s *Server) livePage(*http.Request) (*frame, error) {
	body := &liveBody{Watched: s.watchedLines()}
	if len(body.Watched) == 0 {
		body.Process = &empty{"A running Go program has its own live page: heap, pauses, CPU time of the collector, " +
			"allocation, goroutines. Show it here, serve it separately, or mount it in the program.",
			[]string{s.command("ui --watch http://localhost:6060"), "isobar watch --web http://localhost:6060",
				`mux.Handle("/debug/isobar/", monitor.Handler())`}}
	}
	f := &frame{Section: "live", Title: "Live", main: templates()["live"], Body: body}
	from, err := s.source.get()
	if err == nil {
		var runs []store.Run
		runs, _, err = from.Browse(0, "", liveRuns)
		for _, run := range runs {
			if l := lineOf(run); l.Status == "unfinished" {
				body.Runs = append(body.Runs, l)
			}
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if len(body.Runs) == 0 {
		body.Lab = &empty{"No run is in progress. A new one appears here, cell by cell.", []string{s.command("lab")}}
	}
	return f, nil
}

// pollInterval is how often a run's progress is read for its followers.
const pollInterval = time.Second

// serveEvents sends the progress of a run as server-sent events until it is
// complete, the client leaves, or the store cannot be read.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("run")
	if _, _, err := s.find(id); err != nil {
		http.Error(w, text.Clean(err.Error()), errorFrame(err).status)
		return
	}
	last := -1
	stream(w, r, s.poll, func() (event string, more bool) {
		_, run, err := s.find(id)
		if err != nil {
			return "event: trouble\ndata: " + text.Clean(err.Error()) + "\n\n", false
		}
		done := run.Finished + run.Failed
		if done == last {
			return alive, true
		}
		last = done
		return fmt.Sprintf("data: {\"finished\":%d,\"failed\":%d,\"total\":%d}\n\n", run.Finished, run.Failed,
			run.Total), done < run.Total
	})
}

// alive is a comment that keeps the connection alive.
const alive = ": alive\n\n"

// stream sends server-sent events, one now and one after each interval, until next reports
// no more or the client leaves.
func stream(w http.ResponseWriter, r *http.Request, every time.Duration, next func() (event string, more bool)) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		event, more := next()
		out.SetWriteDeadline(time.Now().Add(10 * time.Second)) // if the writer supports deadlines
		if _, err := io.WriteString(w, event); err != nil || out.Flush() != nil || !more {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// serveReport sends the self-contained file of a run.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	run, analysis, err := s.load(r.PathValue("run"))
	var buf bytes.Buffer
	if err == nil {
		err = page.Write(&buf, run.Run, analysis)
	}
	if err != nil {
		s.write(w, errorFrame(err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="isobar-run-%d.html"`, run.Meta.ID))
	w.Write(buf.Bytes())
}
