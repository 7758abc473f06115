package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/gc/phase"
	"github.com/isobar-go/isobar/monitor"
)

// collectingTrace is a trace with some regions that collect and some that do not.
func collectingTrace(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	ctx := context.Background()
	for range 5 {
		trace.WithRegion(ctx, "collect", runtime.GC)
		trace.WithRegion(ctx, "count", func() { time.Sleep(time.Microsecond) })
	}
	trace.Stop()
	return b.Bytes()
}

func TestTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(name, collectingTrace(t), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"trace", name, "--above", "0"}, strings.NewReader(""), &out,
		&errw); code != exitOK {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	if !strings.Contains(out.String(), "region collect: of the 5 operations above p0") ||
		!strings.Contains(out.String(), "100 % overlapped stop of the world") {
		t.Errorf("printed:\n%s", out.String())
	}
	out.Reset()
	if code := run(t.Context(), []string{"trace", name, "--above", "0", "--json"}, strings.NewReader(""), &out,
		&errw); code != exitOK {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	var kinds []tracedKind
	if err := json.Unmarshal(out.Bytes(), &kinds); err != nil || len(kinds) < 2 {
		t.Fatalf("%v: %s", err, out.String())
	}
	if k := kinds[0]; k.Kind != "region collect" || k.Ops != 5 || k.Rows[0].Ops != 5 {
		t.Errorf("%+v", k)
	}
}

func TestTraceFromAProcess(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"trace", srv.URL + "/debug/pprof/trace?seconds=0.2"}, strings.NewReader(""), &out,
		&errw); code != exitOK {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	if !strings.Contains(out.String(), "a trace of ") {
		t.Errorf("printed %q", out.String())
	}
}

// http11's requests are regions of a trace.
func TestTraceOfRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http11.Server{OnPanic: func(http11.Request, any, []byte) {},
		Handler: http11.HandlerFunc(func(c *http11.Context) {
			if runtime.GC(); string(c.Path().Clone()) == "/fails" {
				panic("a handler that fails")
			}
			c.WriteString("ok")
		})}
	go server.Serve(l)
	defer server.Close()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"/", "/", "/fails"} {
		resp, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Error(err)
			continue
		}
		resp.Body.Close()
	}
	trace.Stop()
	name := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"trace", name, "--above", "0"}, strings.NewReader(""), &out,
		&errw); code != exitOK {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	if !strings.Contains(out.String(), "region http11 request: of the 3 operations above p0") {
		t.Errorf("printed:\n%s", out.String())
	}
}

// TestTraceOfAnAlarm reads the flight recording that package monitor keeps after an alarm.
func TestTraceOfAnAlarm(t *testing.T) {
	m, err := monitor.New(monitor.Config{Interval: 100 * time.Millisecond,
		Alarms: []monitor.Alarm{{Key: "/sched/goroutines:goroutines", Above: 1}}})
	if err != nil {
		t.Skip(err) // someone else is recording
	}
	defer m.Close()
	srv := httptest.NewServer(m)
	defer srv.Close()
	var out, errw bytes.Buffer
	until(t, "a recording", func() bool {
		runtime.GC()
		out.Reset()
		errw.Reset()
		return run(t.Context(), []string{"trace", srv.URL + "/flight", "--json"}, strings.NewReader(""), &out,
			&errw) == exitOK
	})
	var kinds []tracedKind
	if err := json.Unmarshal(out.Bytes(), &kinds); err != nil || len(kinds) == 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	if k := kinds[len(kinds)-1]; k.Kind != phase.Waits || k.WindowNs <= 0 || k.Ops == 0 {
		t.Errorf("%+v", k)
	}
}

func TestTraceRefuses(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	name := filepath.Join(t.TempDir(), "no-trace")
	if err := os.WriteFile(name, []byte("hello, this is no trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	gclog := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(gclog, []byte("starting\ngc 1 @0.009s 1%: 0.01+0.2+0.003 ms clock, "+
		"0.02+0.1/0.2/0.3+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, collectingTrace(t)[:50], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"trace", cut}, exitFailure, "no operation comes before that"},
		{[]string{"trace", gclog}, exitFailure, "no execution trace of Go 1.22 or later"},
		{[]string{"trace"}, exitUsage, "want 'isobar trace FILE|URL|- "},
		{[]string{"trace", name}, exitFailure, "no execution trace of Go 1.22 or later"},
		{[]string{"trace", name + "x"}, exitFailure, "no such file"},
		{[]string{"trace", srv.URL}, exitFailure, "404"},
		{[]string{"trace", "http://127.0.0.1:1/"}, exitFailure, "is the program running"},
		{[]string{"trace", name, "--above", "1"}, exitUsage, "want a quantile"},
	} {
		var out, errw bytes.Buffer
		if code := run(t.Context(), c.args, strings.NewReader(""), &out, &errw); code != c.code ||
			!strings.Contains(errw.String(), c.want) {
			t.Errorf("%v: exit %d, %q; want %d and %q", c.args, code, errw.String(), c.code, c.want)
		}
	}
}

// TestTraceInterrupted ends the wait for a server that never answers.
func TestTraceInterrupted(t *testing.T) {
	asked, end := make(chan bool), make(chan bool)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-end
	}))
	defer srv.Close()
	defer close(end)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(errors.New("a signal"))
	}()
	var errw bytes.Buffer
	if code := run(ctx, []string{"trace", srv.URL}, strings.NewReader(""), io.Discard, &errw); code != exitInterrupted ||
		errw.Len() > 0 {
		t.Errorf("exit %d, %q", code, &errw)
	}
}
