package http11_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
)

// A spec describes a child's work.
type spec struct {
	Engine  http11.Engine
	Seconds float64
	Seed    uint64
	Fault   string
	// Native and Adapted say whose things are hoarded and used late; neither is
	// the control.
	Native, Adapted bool
}

func (p spec) hoards(part string) bool {
	return part == "native" && p.Native || part == "adapted" && p.Adapted
}

// A finding is a violation.
type finding struct {
	Kind string // see harmful
	Part string // native, adapted or client
	Text string
	At   float64 // seconds since the first request
}

// A summary is what a child did.
type summary struct {
	Conns, Answered, Late, Noticed int64
	Routes                         map[string]int64 // answered
	Findings                       map[string]int   // by kind and part
}

// A child prints one finding per line and a summary at the end.
const (
	findingLine = "tenants: found "
	summaryLine = "tenants: done "
)

const (
	patience   = 20 * time.Second // within which a client is answered
	shownOfOne = 5                // findings of one kind that are told
)

// A world is the workload of a child: servers, their clients, and what is kept.
type world struct {
	spec     spec
	began    time.Time
	file     string // what SendFile sends
	register register
	hoard    hoard
	keepers  [16]atomic.Pointer[keeper] // of responses that are over
	backend  *httptest.Server
	tls      *tls.Config
	trusting *tls.Config // of clients
	// busy counts the goroutines that handlers left behind.
	busy                           sync.WaitGroup
	conns, answered, late, noticed atomic.Int64

	mu       sync.Mutex
	findings map[string]int   // guarded by mu
	routes   map[string]int64 // guarded by mu
}

// found reports a finding.
func (w *world) found(kind, part, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.findings[kind+" "+part]++
	if w.findings[kind+" "+part] <= shownOfOne {
		line, _ := json.Marshal(finding{kind, part, text, time.Since(w.began).Seconds()})
		fmt.Printf("%s%s\n", findingLine, line)
	}
}

func (w *world) count(route string) {
	w.answered.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes[route]++
}

// A place is a server on a listener, for clients to visit.
type place struct {
	name    string
	addr    string
	tls     bool
	mounted bool // native routes only
	close   func() error
}

// tenantModes are all kinds of request memory.
func tenantModes() (all []http11.Memory) {
	for _, mode := range http11.MemoryModes() {
		all = append(all, http11.Memory{Mode: mode})
		if mode.Info().OffHeap && !http11.Faulting {
			all = append(all, http11.Memory{Mode: mode, OffHeap: true})
		}
	}
	return all
}

// runChild runs the workload, then exits the process.
func runChild(t *testing.T, p spec) {
	http11.SetFault(p.Fault)
	log.SetOutput(io.Discard) // net/http tells there of clients that go away
	w := &world{spec: p, findings: map[string]int{}, routes: map[string]int64{}}
	w.register.of = map[string]*sent{}
	w.file = filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(w.file, []byte(fileContent), 0o600); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS()
	w.tls = &tls.Config{Certificates: secure.TLS.Certificates}
	secure.Close()
	w.trusting = &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	w.backend = httptest.NewServer(http.HandlerFunc(w.serveBackend))
	handler := w.handler()
	var places []*place
	for _, m := range tenantModes() {
		places = append(places, w.serve(t, m, nil, handler), w.serve(t, m, w.tls, handler))
	}
	if p.Engine == http11.Goroutines {
		places = append(places, w.mount(http11.Memory{}, handler), w.mount(http11.Memory{Mode: http11.Arena}, handler))
	}
	w.began = time.Now()
	w.play(places)
	w.end(places)
	w.mu.Lock()
	line, _ := json.Marshal(summary{
		Conns: w.conns.Load(), Answered: w.answered.Load(), Late: w.late.Load(), Noticed: w.noticed.Load(),
		Routes: w.routes, Findings: w.findings,
	})
	fmt.Printf("%s%s\n", summaryLine, line)
	os.Exit(0) // before package testing judges what the parent does
}

// play runs the clients of all places for their time.
func (w *world) play(places []*place) {
	stop := make(chan struct{})
	w.lateUsers(3, stop)
	end := w.began.Add(time.Duration(w.spec.Seconds * float64(time.Second)))
	var clients sync.WaitGroup
	for i, pl := range places {
		for j := range 5 {
			clients.Go(func() {
				c := &client{w: w, place: pl, rng: rand.New(rand.NewPCG(w.spec.Seed, uint64(i*100+j)))}
				for time.Now().Before(end) {
					c.round()
				}
			})
		}
	}
	w.within(time.Until(end)+4*patience, "clients", clients.Wait)
	close(stop)
	w.hoard.end()
}

// end closes the servers; nothing of them may remain.
func (w *world) end(places []*place) {
	var closing sync.WaitGroup
	for _, pl := range places {
		closing.Go(func() {
			if err := pl.close(); err != nil {
				w.found("left", "server", err.Error())
			}
		})
	}
	closing.Wait()
	w.within(2*patience, "handlers, or what they have started,", w.busy.Wait)
}

// within waits for a function; taking too long is a finding.
func (w *world) within(limit time.Duration, what string, f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		stacks := make([]byte, 1<<20)
		w.found("hang", "server", fmt.Sprintf("%s do not end:\n%s", what, stacks[:runtime.Stack(stacks, true)]))
	}
}

// serve starts a server.
func (w *world) serve(t *testing.T, m http11.Memory, secure *tls.Config, h http11.Handler) *place {
	s := &http11.Server{
		Engine: w.spec.Engine, Memory: m, TLS: secure, Handler: h,
		ReadHeaderTimeout: patience, ReadBodyTimeout: patience,
	}
	switch f := any(&s.OnPanic).(type) { // with and without the request
	case *func(any, []byte):
		*f = w.handlerPanicked
	case *func(http11.Request, any, []byte):
		*f = func(_ http11.Request, v any, stack []byte) { w.handlerPanicked(v, stack) }
	default:
		panic(fmt.Sprintf("OnPanic is a %T", f))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) // ends by Shutdown
	name := fmt.Sprintf("%v, off heap %v, TLS %v", m.Mode, m.OffHeap, secure != nil)
	return &place{name: name, addr: l.Addr().String(), tls: secure != nil, close: func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			return fmt.Errorf("%s: %w: %+v", name, err, s.Stats())
		}
		// Nobody waits for handlers that have hijacked.
		st := s.Stats()
		for end := time.Now().Add(patience); time.Now().Before(end); st = s.Stats() {
			w.register.sweep()
			if st.Conns == 0 && st.Memory.Requests == 0 && st.Memory.InUse == 0 {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return fmt.Errorf("%s: left in use: %+v", name, st)
	}}
}

// mount starts net/http's server with the handler mounted. Panics are findings:
// net/http would only log them and cut the connection.
func (w *world) mount(m http11.Memory, h http11.Handler) *place {
	mounted := &http11.Server{Memory: m, Handler: h}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v != nil && v != http.ErrAbortHandler {
				w.handlerPanicked(v, debug.Stack())
			}
			if v != nil {
				panic(v)
			}
		}()
		if _, s, rng := w.whose(r.URL.Path); s != nil && rng.IntN(3) == 0 {
			writes, reads := &keeper{Writer: rw, w: w, s: s}, &keeper{Writer: io.Discard, w: w, s: s}
			defer writes.Close()
			defer reads.Close()
			rw = middleware{rw, writes}
			r = r.WithContext(r.Context()) // a copy
			r.Body = io.NopCloser(io.TeeReader(r.Body, reads))
		}
		mounted.ServeHTTP(rw, r)
	}))
	name := m.Mode.String() + ", mounted"
	return &place{name: name, addr: s.Listener.Addr().String(), mounted: true, close: func() error {
		s.Close()
		return nil
	}}
}

// A middleware keeps what is written through it.
type middleware struct {
	http.ResponseWriter
	io.Writer
}

func (m middleware) Unwrap() http.ResponseWriter       { return m.ResponseWriter }
func (m middleware) Write(p []byte) (n int, err error) { return m.Writer.Write(p) }

// errDeliberate is what handlers panic with on request.
var errDeliberate = errors.New("deliberate")

func (w *world) handlerPanicked(v any, stack []byte) {
	if v != errDeliberate {
		w.found("handler", "server", fmt.Sprintf("a handler panicked: %.200v\n%s", v, shortStack(stack)))
	}
}

// shortStack omits the frames that captured the stack.
func shortStack(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	return strings.Join(lines[:min(len(lines), 24)], "\n")
}
