// Package web is the local user interface: pages over the store, for a browser on this machine.
//
// A [Server] is an http.Handler. It shows the runs of a store, a run with all its plots, a
// cell, two runs side by side, claims and advice, and the current state of a fleet and of
// running processes. Package page draws both a run's page and the self-contained file. The
// store is opened read-only, so measurements may write to it meanwhile: pages of an
// incomplete run follow its progress by server-sent events.
//
// # Security
//
// No request changes anything: the server accepts only GET and HEAD. On a loopback address
// it refuses requests that name another host (a web page can rebind its own name to this
// address) and requests from pages of another origin. With a Token it serves only requests
// that carry it: once in the address, then in a cookie that other sites cannot make a
// browser send. Its pages have a policy that allows no external script, style or request.
//
// # Links
//
// The address determines what is shown: the run, the cell, ?units=base for all digits in
// base units, ?from= and ?to= (milliseconds) for a part of a cell's time.
//
// # Concurrency
//
// Any number of goroutines may use a Server. It must not be copied.
//
// Imports: base, kit, lab, study, show, advice, heap, live, fleet, session.
package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

//go:embed assets
var assets embed.FS

// Config says what a Server serves, and to whom.
type Config struct {
	Store   string // the store file; it need not exist yet
	Version string // of the program
	// Token must accompany requests; "" admits everybody on this machine, which is
	// right only for a loopback address.
	Token string
	// Ledger returns the claims with the store's evidence. Calls may be concurrent.
	Ledger func() (*text.Ledger, error)
	// Fleet returns the state of a fleet; nil if none was named. Calls do not overlap.
	Fleet func(context.Context) (*fleet.Status, error)
	// Watched are the running processes with a live page.
	Watched []Watched
	Heaps   []string // files that 'isobar heap --save' wrote
}

// A Server serves the pages of one store. Make one with New.
type Server struct {
	config Config
	mux    *http.ServeMux
	source source
	poll   time.Duration // pollInterval, except in tests
	fleet  *fleetSource  // nil if there is none

	mu     sync.Mutex
	ledger ledgerState // the most recently shown claims; guarded by mu
}

// New returns a Server. Close releases its resources.
func New(c Config) *Server {
	if path, err := filepath.Abs(c.Store); err == nil {
		c.Store = path // readers run the printed commands in other directories
	}
	s := &Server{config: c, mux: http.NewServeMux(), source: source{path: c.Store}, poll: pollInterval}
	if c.Fleet != nil {
		s.fleet = &fleetSource{ask: c.Fleet}
	}
	for _, p := range sitePages {
		s.mux.HandleFunc("GET "+p.pattern, func(w http.ResponseWriter, r *http.Request) {
			f, err := p.serve(s, r)
			if err != nil {
				f = errorFrame(err)
			}
			s.write(w, f)
		})
	}
	s.mux.HandleFunc("GET /run/{run}/events", s.serveEvents)
	s.mux.HandleFunc("GET /run/{run}/report.html", s.serveReport)
	s.mux.HandleFunc("GET /fleet/events", s.serveFleetEvents)
	for i, watched := range c.Watched {
		s.mux.Handle(fmt.Sprintf("GET /live/%d/", i+1), watched.Relay)
	}
	s.mux.HandleFunc("GET /assets/{name}", s.serveAsset)
	return s
}

// command returns the command line that runs isobar with args on the pages' store.
func (s *Server) command(args string) string {
	return (&session.Session{Store: s.config.Store}).Command(args)
}

// Close closes the store. Requests in progress may fail.
func (s *Server) Close() error { return s.source.close() }

// ServeHTTP serves a request that passes the guard.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.guard(w, r, s.mux)
}

// A frame is a page: its frame and its content.
type frame struct {
	Section string // the section of the navigation
	Title   string
	Report  *page.Page // facts, contents and figures; nil for none
	Back    *link      // the page above
	Store   string
	Version string
	main    *template.Template
	Body    any // for the template main

	status int // 0 is 200
}

// A link has a name and a target.
type link struct{ Name, Href string }

// CurrentIs returns the attribute for the navigation's link to a section.
func (f *frame) CurrentIs(section string) template.HTMLAttr {
	if f.Section == section {
		return `aria-current="page"`
	}
	return ""
}

// A sitePage is a page of the site, registered by the file that defines it.
type sitePage struct {
	pattern string // its address as a pattern for http.ServeMux, without the method
	serve   func(*Server, *http.Request) (*frame, error)
	nav     nav // its link in the navigation; the zero value for none
}

// A nav is a link in the navigation. Section matches that of the frames for which the link is current.
type nav struct {
	Place               int // from left to right
	Section, Name, Href string
}

// sitePages are all pages. Only init functions change it.
var sitePages []sitePage

// register adds a page. It is called from init functions.
func register(p sitePage) { sitePages = append(sitePages, p) }

func init() {
	register(sitePage{pattern: "/{anything...}", serve: noPage})
	register(sitePage{pattern: "/run/{run}/{anything...}", serve: noPage})
}

func noPage(*Server, *http.Request) (*frame, error) { return nil, errNoPage }

// Site returns the links of the navigation.
func (f *frame) Site() (links []nav) {
	for _, p := range sitePages {
		if p.nav.Name != "" {
			links = append(links, p.nav)
		}
	}
	slices.SortFunc(links, func(a, b nav) int { return a.Place - b.Place })
	return links
}

// templates are the templates of all pages, by file name.
var templates = sync.OnceValue(func() map[string]*template.Template {
	funcs := template.FuncMap{"clean": text.Clean, "plural": text.Plural}
	base := template.Must(page.Templates().Funcs(funcs).ParseFS(assets, "assets/layout.tmpl"))
	all := map[string]*template.Template{}
	names, err := fs.Glob(assets, "assets/page-*.tmpl")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range names {
		all[name[len("assets/page-"):len(name)-len(".tmpl")]] = template.Must(template.Must(base.Clone()).ParseFS(assets,
			name))
	}
	return all
})

// write sends a whole page, or an error instead.
func (s *Server) write(w http.ResponseWriter, f *frame) {
	f.Store, f.Version = s.config.Store, s.config.Version
	if f.Title == "" && f.Report != nil {
		f.Title = f.Report.Name
	}
	var buf bytes.Buffer
	if err := f.main.ExecuteTemplate(&buf, "layout", f); err != nil {
		http.Error(w, "isobar ui: draw page: "+err.Error()+"; please report this", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(cmp.Or(f.status, http.StatusOK))
	w.Write(buf.Bytes())
}

var errNoPage = errors.New("web: there is no page at this address; the navigation lists all pages")

// errBadRequest is wrapped by errors about an invalid address.
var errBadRequest = errors.New("invalid address")

// errorFrame returns a page that says what went wrong and what to do.
func errorFrame(err error) *frame {
	f := &frame{main: templates()["error"], Title: "This page cannot be shown", status: http.StatusInternalServerError,
		Body: text.Clean(err.Error())}
	switch misuse := new(session.Misuse); {
	case errors.Is(err, errNoPage), errors.Is(err, store.ErrNotFound):
		f.Title, f.status = "There is no such page", http.StatusNotFound
	case errors.Is(err, errBadRequest), errors.As(err, &misuse):
		f.Title, f.status = "Invalid address", http.StatusBadRequest
	}
	return f
}

// kinds are the types of the served assets.
var kinds = map[string]string{
	"ui.css": "text/css; charset=utf-8", "report.css": "text/css; charset=utf-8", "advice.css": "text/css; charset=utf-8",
	"ui.js": "text/javascript; charset=utf-8",
}

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := kinds[name]
	if !ok {
		http.Error(w, "web: no such file", http.StatusNotFound)
		return
	}
	data := []byte(page.StyleSheet())
	switch name {
	case "report.css":
	case "advice.css":
		data = []byte(advice.Style())
	default:
		data, _ = assets.ReadFile("assets/" + name) // kinds lists existing files only
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}
