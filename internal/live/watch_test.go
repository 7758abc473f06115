package live

import (
	"context"
	"expvar"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/monitor"
)

// short is the interval of the tests' feeds.
const short = 100 * time.Millisecond

func openTest(t *testing.T, target string, c Config) Feed {
	t.Helper()
	if c.Interval == 0 {
		c.Interval = short
	}
	f, err := Open(target, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func next(t *testing.T, f Feed) Sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := f.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Figures) != len(s.Values) {
		t.Fatalf("%d figures, %d values", len(s.Figures), len(s.Values))
	}
	return s
}

func (s Sample) value(t *testing.T, key string) float64 {
	t.Helper()
	i := slices.IndexFunc(s.Figures, func(f monitor.Figure) bool { return f.Key == key })
	if i < 0 {
		t.Fatalf("no figure %s", key)
	}
	return s.Values[i]
}

func newMonitor(t *testing.T) *monitor.Monitor {
	m, err := monitor.New(monitor.Config{Interval: short})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// serve starts a server that outlives the feeds opened later.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// The three kinds of server report the same about one process.
func TestServers(t *testing.T) {
	m := newMonitor(t)
	index := http.NewServeMux()
	index.HandleFunc("/debug/pprof/", pprof.Index)
	index.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	moved := http.NewServeMux()
	moved.Handle("/internal/gc/", m)
	for name, c := range map[string]struct {
		handler http.Handler
		path    string
	}{
		"page":                     {prefix("/debug/isobar/", m), ""},
		"page elsewhere":           {moved, "/internal/gc"},
		"expvar":                   {prefix("/debug/vars", expvar.Handler()), ""},
		"pprof":                    {index, ""},
		"pprof, a path in it":      {index, "/debug/pprof/heap"},
		"expvar, a path elsewhere": {prefix("/vars", expvar.Handler()), "/vars"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, c.handler)
			f := openTest(t, srv.URL+c.path, Config{})
			var h History
			first := next(t, f)
			h.Add(first)
			for first.Past { // others may have collected meanwhile
				first = next(t, f)
				h.Add(first)
			}
			runtime.GC()
			s := first
			for s.value(t, "/gc/cycles:gc-cycles") == first.value(t, "/gc/cycles:gc-cycles") {
				s = next(t, f)
				h.Add(s)
			}
			if heap, goal := s.value(t, "/heap/objects:bytes"), s.value(t, "/heap/goal:bytes"); !(heap > 1e5) || !(goal > 1e6) {
				t.Errorf("heap %v, goal %v", heap, goal)
			}
			if !(h.Value("/gc/cycles:gc-cycles") > 0) || !(h.Value("/alloc/size:bytes") > 0) {
				t.Errorf("rates: %v collections, %v bytes", h.Value("/gc/cycles:gc-cycles"), h.Value("/alloc/size:bytes"))
			}
			if s.Epoch != first.Epoch || s.Past {
				t.Errorf("epoch %d after %d, past %v", s.Epoch, first.Epoch, s.Past)
			}
			if got, want := s.Process.Program, filepath.Base(os.Args[0]); got != want {
				t.Errorf("program %q, want %q", got, want)
			}
			if name == "pprof" {
				if n := s.value(t, "/sched/goroutines:goroutines"); !(n >= 2) {
					t.Errorf("%v goroutines", n)
				}
			}
		})
	}
}

func prefix(path string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(path, h)
	return mux
}

// A URL may name a user, whose password appears nowhere, a page behind a prefix, and a query.
func TestWaysIn(t *testing.T) {
	closed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ops" || password != "s3cret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		prefix("/svc/debug/pprof/", http.StripPrefix("/svc", http.HandlerFunc(pprof.Index))).ServeHTTP(w, r)
	})
	address := serve(t, closed).Listener.Addr().String()
	for _, target := range []string{"http://ops:s3cret@" + address + "/svc", "http://ops:s3cret@" + address + "/svc/",
		"http://ops:s3cret@" + address + "/svc/debug/pprof/heap?debug=1"} {
		f := openTest(t, target, Config{})
		next(t, f)
		if got, want := f.Source(), "http://"+address+"/svc/debug/pprof/"; got != want {
			t.Errorf("%s: figures from %s, want %s", target, got, want)
		}
	}
	secure := httptest.NewUnstartedServer(closed)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for target, want := range map[string]string{
		secure.URL:                                "SSL_CERT_FILE",
		secure.Listener.Addr().String():           "https://",
		"http://" + address + "/svc/debug/pprof/": "http://USER:PASSWORD@",
		"http://ops:s3cret@" + address:            "name the path",
	} {
		_, err := openTest(t, target, Config{}).Next(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// A feed that has lost its process finds the next one at the same address.
func TestComesBack(t *testing.T) {
	for _, kind := range []string{"page", "expvar"} {
		t.Run(kind, func(t *testing.T) {
			handler := func() http.Handler {
				if kind == "page" {
					return prefix("/debug/isobar/", newMonitor(t))
				}
				return prefix("/debug/vars", expvar.Handler())
			}
			srv := httptest.NewServer(handler())
			address := srv.Listener.Addr().String()
			f := openTest(t, address, Config{})
			first := next(t, f)
			srv.CloseClientConnections()
			srv.Close()
			for { // samples in transit still arrive
				if _, err := f.Next(t.Context()); err != nil {
					break
				}
			}
			if _, err := f.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "is the program running") {
				t.Errorf("while nothing listens: %v", err)
			}
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			again := &http.Server{Handler: handler()}
			go again.Serve(l)
			defer again.Close()
			if s := next(t, f); s.Epoch <= first.Epoch {
				t.Errorf("epoch %d after %d", s.Epoch, first.Epoch)
			}
		})
	}
}

// A tunnel whose server restarts accepts connections and closes them.
func TestConnectionsAreClosed(t *testing.T) {
	var closes atomic.Bool
	srv := serve(t, prefix("/debug/vars", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if closes.Load() {
			panic(http.ErrAbortHandler)
		}
		expvar.Handler().ServeHTTP(w, r)
	})))
	c := Config{Interval: short}
	samples, said := 0, ""
	err := Each(t.Context(), openTest(t, srv.URL, c), c, func(text string) {
		said += text + "\n"
		closes.Store(false)
	}, func(Sample) bool {
		samples++
		closes.Store(samples == 1)
		return samples < 3
	})
	if err != nil || samples != 3 || !strings.Contains(said, "EOF; trying again") {
		t.Errorf("%d samples, %v; said %q", samples, err, said)
	}
	closes.Store(true)
	err = Each(t.Context(), openTest(t, srv.URL+"/debug/vars", c), c, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "is that the address") {
		t.Errorf("first connection closed: %v", err)
	}
}

// Counters that decrease belong to another process, and so do other pauses, however much it has allocated.
func TestRestartBehindTheSameAddress(t *testing.T) {
	answers := []struct {
		stats string
		epoch int
	}{
		{`"TotalAlloc":1000,"Mallocs":9,"NumGC":2,"PauseNs":[5,6]`, 1},
		{`"TotalAlloc":2000,"Mallocs":9,"NumGC":4,"PauseNs":[5,6,7,8]`, 1},
		{`"TotalAlloc":10,"Mallocs":9,"NumGC":4,"PauseNs":[5,6,7,8]`, 2},
		{`"TotalAlloc":9000,"Mallocs":99,"NumGC":5,"PauseNs":[4,3,2,1,9]`, 3},
		{`"TotalAlloc":9000,"Mallocs":90,"NumGC":5,"PauseNs":[4,3,2,1,9]`, 4},
		{`"TotalAlloc":9000,"Mallocs":90,"NumGC":300,"PauseNs":[1,2,3,4,5]`, 4}, // the ring has turned
	}
	var asked atomic.Int64
	srv := serve(t, prefix("/debug/vars", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"cmdline":["/bin/x"],"memstats":{"Sys":1,%s}}`, answers[asked.Add(1)-1].stats)
	})))
	f := openTest(t, srv.URL, Config{})
	for i, want := range answers {
		if got := next(t, f).Epoch; got != want.epoch {
			t.Errorf("answer %d: epoch %d, want %d", i, got, want.epoch)
		}
	}
}

func TestBadServers(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		b := []byte(strings.Repeat("x", 1<<20))
		for r.Context().Err() == nil {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "220 mail.example ESMTP\r\n")
			c.Close()
		}
	}()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		url     string
		want    string
	}{
		"dead":            {nil, closed.URL, "is the program running"},
		"no HTTP":         {nil, plain.Addr().String(), "is that the address of its HTTP server"},
		"no such name":    {nil, "http://no-such-host.invalid:80", "no-such-host.invalid"},
		"no figures":      {http.NotFound, "", "have the program import net/http/pprof or expvar"},
		"other JSON":      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"a":[1]}`) }, "", "not with figures"},
		"an endless line": {endless, "", "more than 64 MiB"},
		"a page of wrong rows": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"next":"a-1","figures":[{"key":"/a:b"}],"rows":[[1]]}`)
		}, "", "has 0 values for 1 figures"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.handler != nil {
				srv := serve(t, c.handler)
				c.url = srv.URL
			}
			f := openTest(t, c.url, Config{})
			s, err := f.Next(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("sample of %d values, error %v; want one that says %q", len(s.Values), err, c.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	if l, err := net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	} else {
		defer l.Close()
	}
	for target, want := range map[string]string{
		dir:                     "is a directory",
		filepath.Join(dir, "x"): "no such file",
		"ftp://localhost/":      "no such file",
		"999999999":             "no process",
		socket:                  "is a socket",
	} {
		if runtime.GOOS != "linux" && want == "no process" {
			continue
		}
		if _, err := Open(target, Config{Interval: short}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

// A server may take as long as the first sample may: the heap profile of a large heap takes its time.
func TestSlowServer(t *testing.T) {
	defer func(d time.Duration) { headersWithin = d }(headersWithin)
	headersWithin = 10 * time.Millisecond
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * headersWithin)
		expvar.Handler().ServeHTTP(w, r)
	}))
	defer srv.Close()
	for wait, want := range map[time.Duration]bool{0: false, time.Minute: true} {
		feed, err := Open(srv.URL+"/debug/vars", Config{Wait: wait, Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = feed.Next(t.Context())
		if got := err == nil; got != want {
			t.Errorf("wait %v: %v", wait, err)
		}
		feed.Close()
	}
}

// A server that accepts a connection and says nothing is no matter of collections.
func TestSilentServer(t *testing.T) {
	released := make(chan struct{})
	srv := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	defer close(released)
	c := Config{Interval: short, Wait: short}
	err := Each(t.Context(), openTest(t, srv.URL, c), c, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no answer within 100ms: ") {
		t.Errorf("%v", err)
	}
}

// A link-local address has a zone, whose percent sign stays escaped.
func TestZone(t *testing.T) {
	probes, _, ok := parseURL("http://[fe80::1%25eth0]:6060")
	if !ok || len(probes) != 3 || probes[1].url != "http://[fe80::1%25eth0]:6060/debug/vars" {
		t.Errorf("%v, %v", probes, ok)
	}
}
