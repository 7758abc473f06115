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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/monitor"
)

// watched starts a server with the page of a monitor.
func watched(t *testing.T) *httptest.Server {
	m, err := monitor.New(monitor.Config{Interval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/isobar/", m)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() {
		m.Close()
		srv.Close()
	})
	return srv
}

func TestWatchJSON(t *testing.T) {
	srv := watched(t)
	var out, errw bytes.Buffer
	if code := run(t.Context(), []string{"watch", srv.URL, "--json", "--count", "3"}, strings.NewReader(""), &out,
		&errw); code != exitOK {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	d := json.NewDecoder(&out)
	last := time.Time{}
	for n := 0; ; n++ {
		var sample struct {
			Time    time.Time
			Figures map[string]float64
		}
		if err := d.Decode(&sample); err == io.EOF {
			if n != 3 {
				t.Errorf("%d samples, want 3", n)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if !sample.Time.After(last) || !(sample.Figures["/heap/objects:bytes"] > 0) {
			t.Errorf("sample %d: %+v after %v", n, sample, last)
		}
		last = sample.Time
	}
}

// TestWatchOntoAFullDisk: figures that cannot be written end the command.
func TestWatchOntoAFullDisk(t *testing.T) {
	srv := watched(t)
	unread, full := io.Pipe()
	unread.CloseWithError(errors.New("the disk is full"))
	for _, args := range [][]string{{"--count", "9"}, {"--once"}, {"--json"}} {
		var errw bytes.Buffer
		code := run(t.Context(), append([]string{"watch", srv.URL}, args...), strings.NewReader(""), full, &errw)
		if code != exitFailure || !strings.Contains(errw.String(), "isobar: the disk is full") {
			t.Errorf("watch %v: exit %d: %s", args, code, errw.String())
		}
	}
}

// lockedBuffer may be written and read concurrently.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestWatchWeb: the page shows the watched process, and then its successor at the same address.
func TestWatchWeb(t *testing.T) {
	first := watched(t)
	address := first.Listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errw lockedBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"watch", address, "--web", "--interval", "100ms"}, strings.NewReader(""), &out, &errw)
	}()
	until(t, "the address", func() bool { return strings.HasSuffix(out.String(), "/\n") })
	page := strings.TrimSpace(out.String())
	history := func() (next string, rows int) {
		resp, err := http.Get(page + "history")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var h struct {
			Process monitor.Process
			Rows    []json.RawMessage
			Next    string
		}
		if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(h.Process.Go, "go") {
			t.Errorf("process %+v", h.Process)
		}
		next, _, _ = strings.Cut(h.Next, "-")
		return next, len(h.Rows)
	}
	until(t, "samples", func() bool { _, n := history(); return n > 2 })
	before, _ := history()

	first.CloseClientConnections()
	first.Close()
	until(t, "the message about the loss", func() bool { return strings.Contains(errw.String(), "trying again") })
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	second := &http.Server{Handler: watched(t).Config.Handler}
	go second.Serve(l)
	defer second.Close()
	until(t, "the next process", func() bool { now, n := history(); return now != before && n > 1 })
	cancel()
	if c := <-code; c != exitInterrupted {
		t.Errorf("exit %d", c)
	}
}

// TestWatchWebServerFails: if nobody can reach the page any more, the command ends, with
// and without a process.
func TestWatchWebServerFails(t *testing.T) {
	ended := filepath.Join(t.TempDir(), "gc.log")
	line := "gc 1 @1.000s 1%: 0.010+0.50+0.020 ms clock, 0.020+1.0/3.0/2.0+0.040 ms cpu, 4->5->2 MB, 10 MB goal, 2 P\n"
	if err := os.WriteFile(ended, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"running": watched(t).URL, "ended": ended} {
		t.Run(name, func(t *testing.T) {
			feed, err := live.Open(target, live.Config{Interval: 100 * time.Millisecond, Once: name == "ended"})
			if err != nil {
				t.Fatal(err)
			}
			defer feed.Close()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var out, errw lockedBuffer
			a := &app{Session: &session.Session{Out: &out, Err: &errw}}
			done := make(chan error, 1)
			go func() {
				done <- a.relay(t.Context(), listener, feed, &watchOptions{Config: live.Config{Interval: 100 * time.Millisecond}})
			}()
			until(t, "the address", func() bool { return strings.HasSuffix(out.String(), "/\n") })
			listener.Close()
			select {
			case err := <-done:
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			case <-time.After(5 * time.Minute):
				t.Error("the command goes on")
			}
		})
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timeout: waited for " + what)
		}
	}
}
