package monitor

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/base/loopback"
)

//go:embed assets
var assets embed.FS

var page = template.Must(template.ParseFS(assets, "assets/page.html.tmpl"))

// static lists files served unchanged.
var static = map[string]string{
	"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8",
	"uplot.js": "text/javascript; charset=utf-8", "uplot.css": "text/css; charset=utf-8",
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var standard = sync.OnceValue(func() *Monitor {
	m, err := New(Config{})
	if err != nil {
		panic(err) // the zero Config is valid
	}
	return m
})

// Handler returns the page of a Monitor with the zero Config. All callers share
// that Monitor, and it is never closed. Mount it under a path that ends with a
// slash.
func Handler() http.Handler { return standard() }

// ServeHTTP serves the page and its files under the path where it is mounted,
// which must end with a slash.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "monitor: only GET and HEAD are allowed: this handler is read-only", http.StatusMethodNotAllowed)
		return
	}
	if !hostAllowed(r) {
		http.Error(w, fmt.Sprintf("monitor: Host %q on a loopback address; use localhost or the IP address", r.Host),
			http.StatusForbidden)
		return
	}
	name := path.Base(r.URL.Path)
	if r.URL.Path == "" || strings.HasSuffix(r.URL.Path, "/") {
		name = ""
	}
	switch kind, ok := static[name]; {
	case ok:
		h.Set("Content-Type", kind)
		http.ServeFileFS(w, r, assets, "assets/"+name)
	case name == "":
		m.servePage(w)
	case name == "history":
		m.serveHistory(w)
	case name == "stream":
		m.serveStream(w, r)
	case name == "flight":
		m.serveFlight(w)
	default:
		http.Error(w, "monitor: no such page; mount the handler under a path that ends with a slash", http.StatusNotFound)
	}
}

// hostAllowed refuses foreign host names on loopback addresses. On other
// addresses that is up to the proxy in front.
func hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || !local.IP.IsLoopback() || loopback.Is(r.Host)
}

func (m *Monitor) servePage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var recorded string
	if m.flight != nil {
		if rec, err := m.flight.recording(); rec != nil {
			recorded = rec.at.Format(time.DateTime) + ": " + rec.why
		} else if err != nil {
			recorded = "the flight recorder failed: " + err.Error()
		}
	}
	page.Execute(w, struct {
		Process
		Recorded, Started string
	}{m.process(), recorded, m.begun.Format(time.DateTime)})
}

// serveHistory serves the figures and all samples still kept.
func (m *Monitor) serveHistory(w http.ResponseWriter) {
	type figure struct {
		Figure
		Unit string `json:"unit"`
	}
	history := struct {
		Process  Process         `json:"process"`
		Interval int64           `json:"interval"` // ms
		Keep     int             `json:"keep"`
		Figures  []figure        `json:"figures"`
		Rows     json.RawMessage `json:"rows"`
		Next     string          `json:"next"`
	}{Process: m.process(), Interval: m.interval.Milliseconds(), Keep: len(m.times)}
	for _, f := range m.figures {
		history.Figures = append(history.Figures, figure{f, f.Unit()})
	}
	rows, next := m.from(0, []byte{'['})
	history.Rows, history.Next = append(rows, ']'), string(m.appendID(nil, next))
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(history)
}

// appendID appends the id of the position before sample k: the start time of
// the process, so that the page notices a restart, and k.
func (m *Monitor) appendID(b []byte, k uint64) []byte {
	b = strconv.AppendInt(b, m.begun.UnixMilli(), 36)
	return strconv.AppendUint(append(b, '-'), k, 10)
}

// parseID returns k if the id belongs to this process.
func (m *Monitor) parseID(id string) (k uint64, ok bool) {
	start, number, _ := strings.Cut(id, "-")
	if start != strconv.FormatInt(m.begun.UnixMilli(), 36) {
		return 0, false
	}
	k, err := strconv.ParseUint(number, 10, 64)
	return k, err == nil
}

// serveStream sends new samples as server-sent events until the client leaves
// or the monitor is closed. An event's id is the position after it: a client
// that reconnects with it misses nothing still kept.
func (m *Monitor) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	m.mu.Lock()
	next := m.samples
	m.mu.Unlock()
	last := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from"))
	if k, ok := m.parseID(last); ok && k < next {
		next = k
	}
	if r.Method == http.MethodHead {
		return
	}
	news, leave := m.watch()
	defer leave()
	out := http.NewResponseController(w)
	var b []byte
	for open := true; open; {
		b = append(b[:0], "data: ["...)
		before := next
		if b, next = m.from(next, b); next != before {
			b = append(b, "]\nid: "...)
			b = append(m.appendID(b, next), "\n\n"...)
		} else {
			b = append(b[:0], ": open\n\n"...)
		}
		out.SetWriteDeadline(time.Now().Add(10 * time.Second)) // if supported
		if _, err := w.Write(b); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		out.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream at its deadline even if nothing is being written
		select {
		case _, open = <-news:
		case <-r.Context().Done():
			return
		}
	}
}

func (m *Monitor) serveFlight(w http.ResponseWriter) {
	if m.flight == nil {
		http.Error(w, "monitor: no flight recorder, because Config has no Alarms; net/http/pprof traces without them: "+
			"/debug/pprof/trace?seconds=5", http.StatusNotFound)
		return
	}
	rec, err := m.flight.recording()
	switch {
	case rec != nil:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", `attachment; filename="flight.trace"`)
		w.Write(rec.trace)
	case err != nil:
		http.Error(w, "monitor: flight recorder: "+err.Error(), http.StatusInternalServerError)
	default:
		http.Error(w, "monitor: no alarm yet", http.StatusNotFound)
	}
}

// appendRow appends a sample as a JSON array; NaN and infinities become null.
func appendRow(b []byte, ms int64, values []float64) []byte {
	b = strconv.AppendInt(append(b, '['), ms, 10)
	for _, v := range values {
		b = append(b, ',')
		if number(v) {
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, ']')
}
