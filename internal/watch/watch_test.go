package watch

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"io"
	"math"
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

// serve ends the server after the feeds that are opened later.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// The three kinds of server tell the same of the same process.
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
			runtime.GC()
			s := first
			for s.Past || s.value(t, "/gc/cycles:gc-cycles") == first.value(t, "/gc/cycles:gc-cycles") {
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

// A feed that lost its process finds the next one at the same place.
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
			for { // what was on its way still comes
				if _, err := f.Next(t.Context()); err != nil {
					break
				}
			}
			if _, err := f.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
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

// Counters that fall are those of another process.
func TestRestartBehindTheSameAddress(t *testing.T) {
	var total atomic.Int64 // what the server says
	total.Store(1000)
	srv := serve(t, prefix("/debug/vars", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"cmdline":["/bin/x"],"memstats":{"Sys":1,"TotalAlloc":%d}}`, total.Load())
	})))
	f := openTest(t, srv.URL, Config{})
	a, b := next(t, f), next(t, f)
	total.Store(10)
	c := next(t, f)
	if a.Epoch != b.Epoch || c.Epoch == b.Epoch {
		t.Errorf("epochs %d, %d, %d: want the third to be another", a.Epoch, b.Epoch, c.Epoch)
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
		"no HTTP":         {nil, plain.Addr().String(), "no HTTP server"},
		"no such name":    {nil, "http://no-such-host.invalid:80", "is the name right"},
		"no figures":      {http.NotFound, "", "have the program import net/http/pprof or expvar"},
		"other JSON":      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"a":[1]}`) }, "", "not with figures"},
		"an endless line": {endless, "", "more than 64 MiB"},
		"a page of wrong rows": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"next":"a-1","figures":[{"key":"/a:b"}],"rows":[[1]]}`)
		}, "", "0 values, of 1 figures"},
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
	for target, want := range map[string]string{
		dir:                     "is a directory",
		filepath.Join(dir, "x"): "no such file",
		"ftp://localhost/":      "no such file",
		"999999999":             "no process",
	} {
		if runtime.GOOS != "linux" && want == "no process" {
			continue
		}
		if _, err := Open(target, Config{Interval: short}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

func traceLine(n int, at string, start, end, live int) string {
	return fmt.Sprintf("gc %d @%ss 1%%: 0.010+0.50+0.020 ms clock, 0.020+1.0/3.0/2.0+0.040 ms cpu, %d->%d->%d MB, 10 MB goal, 1 MB stacks, 0 MB globals, 2 P\n", n, at, start, end, live)
}

func TestStream(t *testing.T) {
	in := traceLine(1, "0.100", 4, 6, 2) + "hello\n" + traceLine(2, "0.500", 8, 9, 3) + traceLine(3, "1.700", 8, 8, 4)
	var own strings.Builder
	f := openTest(t, "-", Config{Interval: time.Second, Stdin: strings.NewReader(in), Own: &own})
	a, b := next(t, f), next(t, f)
	if n := a.value(t, "/gc/cycles:gc-cycles"); n != 2 {
		t.Errorf("the first sample has %v collections, want the 2 of the first second", n)
	}
	if heap, live, goal := a.value(t, "/heap/objects:bytes"), a.value(t, "/heap/live:bytes"), a.value(t, "/heap/goal:bytes"); heap != 9<<20 || live != 3<<20 || goal != 10<<20 {
		t.Errorf("heap %v, live %v, goal %v", heap, live, goal)
	}
	if got := a.value(t, "/alloc/size:bytes"); got != (6+9-2)<<20 {
		t.Errorf("allocated %v, want 13 MiB", got)
	}
	if got := a.value(t, "/gc/pause/max:seconds"); got != 20e-6 {
		t.Errorf("longest pause %v, want 20 µs", got)
	}
	if got := b.At.Sub(a.At); got != 1200*time.Millisecond {
		t.Errorf("samples %v apart, want 1.2 s: the clock is the program's", got)
	}
	if got := b.value(t, "/gc/cpu/assist:cpu-seconds"); math.Abs(got-3e-3) > 1e-9 {
		t.Errorf("assist %v, want 3 ms", got)
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if own.String() != "hello\n" {
		t.Errorf("passed on %q", own.String())
	}
}

func TestStreamOfNothing(t *testing.T) {
	f := openTest(t, "-", Config{Stdin: strings.NewReader("no such thing\n")})
	if _, err := f.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "GODEBUG=gctrace=1") {
		t.Errorf("%v, want the remedy", err)
	}
}

// A stream in which a process begins anew shows that one.
func TestStreamOfTwoProcesses(t *testing.T) {
	in := traceLine(1, "0.1", 4, 6, 2) + traceLine(2, "5.1", 4, 6, 2) + traceLine(1, "0.2", 4, 7, 2) + traceLine(3, "9.9", 4, 6, 2)
	f := openTest(t, "-", Config{Interval: time.Second, Stdin: strings.NewReader(in)})
	var epochs []int
	for {
		s, err := f.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, s.Epoch)
	}
	if !slices.Equal(epochs, []int{1, 1, 2}) {
		t.Errorf("epochs %v, want 1, 1, 2", epochs)
	}
	if !slices.ContainsFunc(f.Notes(), func(n string) bool { return strings.Contains(n, "1 collections of processes that began before") }) {
		t.Errorf("notes %q", f.Notes())
	}
}

// A file is followed as it grows, is cut, and is replaced.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gc.log")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(name, flag|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = io.WriteString(f, text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, traceLine(1, "1", 4, 6, 2)+traceLine(2, "2", 4, 6, 3)+traceLine(3, "3", 4, 6, 4))
	f := openTest(t, name, Config{})
	for i, past := range []bool{true, true, false} {
		s := next(t, f)
		if s.Past != past || s.value(t, "/gc/cycles:gc-cycles") != float64(i+1) {
			t.Errorf("sample %d: past %v, %v collections", i, s.Past, s.value(t, "/gc/cycles:gc-cycles"))
		}
	}
	grown := traceLine(4, "4", 4, 6, 5)
	write(os.O_APPEND, grown[:30])
	write(os.O_APPEND, grown[30:])
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 5<<20 || s.Past {
		t.Errorf("live %v after it grew", s.value(t, "/heap/live:bytes"))
	}
	write(os.O_TRUNC, traceLine(1, "0.1", 4, 6, 1))
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 1<<20 || s.Epoch != 2 {
		t.Errorf("live %v, epoch %d after it was cut", s.value(t, "/heap/live:bytes"), s.Epoch)
	}
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write(0, traceLine(1, "0.1", 4, 6, 7))
	if s := next(t, f); s.value(t, "/heap/live:bytes") != 7<<20 || s.Epoch != 3 {
		t.Errorf("live %v, epoch %d after it was replaced", s.value(t, "/heap/live:bytes"), s.Epoch)
	}
}

func TestView(t *testing.T) {
	var h History
	figures := []monitor.Figure{{Key: "/heap/objects:bytes"}, {Key: "/heap/goal:bytes"}, {Key: "/alloc/size:bytes", Counter: true}, {Key: "/gc/pause/max:seconds"}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 5 {
		h.Add(Sample{At: at.Add(time.Duration(i) * time.Second), Process: monitor.Process{Program: "orders\x1b[2J", PID: 7}, Figures: figures,
			Values: []float64{float64(i) * (1 << 20), 8 << 20, float64(i) * (3 << 20), math.NaN()}, Epoch: 1})
	}
	screen := strings.Join(h.Screen("here", 100), "\n")
	for _, want := range []string{`orders\x1b[2J · pid 7 · here · 03:04:09`, "▁▂▃▄▅   4.00 MiB  goal 8.00 MiB", "3.00 MiB/s"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "pause") {
		t.Errorf("a row without a figure:\n%s", screen)
	}
	for _, line := range h.Screen("here", 40) {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if got := h.Line(); got != "03:04:09; heap 4.00 MiB (goal 8.00 MiB); allocation 3.00 MiB/s" {
		t.Errorf("line %q", got)
	}
	d := h.Document("here")
	if d.Figures["/alloc/size:bytes"] != 12<<20 || d.Rates["/alloc/size:bytes"] != 3<<20 || len(d.Figures) != 3 {
		t.Errorf("document %+v", d)
	}
	h.Add(Sample{At: at, Figures: figures, Values: []float64{1, 1, 1, 1}, Epoch: 2})
	if h.Ready() || !math.IsNaN(h.Value("/alloc/size:bytes")) {
		t.Error("a rate between two processes")
	}
}

func TestSpark(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		ceiling float64
		want    string
	}{
		{[]float64{0, 1, 2, 4, 8}, 0, "▁▂▃▅█"},
		{[]float64{1, math.NaN(), 1}, 8, "  ▂ ▂"},
		{[]float64{9, 9, 0, 0, 0, 0, 0}, 0, "▁▁▁▁▁"},
		{nil, 1, "     "},
		{[]float64{math.Inf(1), 1}, 2, "   █▅"},
	} {
		if got := Spark(c.values, c.ceiling, 5); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
