package session

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune"
)

func TestRunningGC(t *testing.T) {
	if os.Getenv("SESSION_TEST_WAIT") != "" { // the process whose setting is read
		io.Copy(io.Discard, os.Stdin)
		return
	}
	body := "# HELP x\ngo_gc_gogc_percent 250\ngo_gc_gomemlimit_bytes 9.223372036854776e+18\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	defer server.Close()
	if got, err := RunningGC(t.Context(), server.URL); err != nil || got != (cell.GC{Percent: 250}) {
		t.Errorf("metrics: %+v, %v", got, err)
	}
	body = "go_gc_gogc_percent 1.8446744073709552e+19\ngo_gc_gomemlimit_bytes 1.048576e+06\n"
	if got, err := RunningGC(t.Context(), server.URL); err != nil || got != (cell.GC{Percent: -1, LimitBytes: 1 << 20}) {
		t.Errorf("metrics of off: %+v, %v", got, err)
	}
	body = "go_gc_gogc_percent{job=\"a b\"} 250 1700000000000\ngo_gc_gomemlimit_bytes 1.048576e+06 1700000000000\n"
	if got, err := RunningGC(t.Context(), server.URL); err != nil || got != (cell.GC{Percent: 250, LimitBytes: 1 << 20}) {
		t.Errorf("metrics with labels and timestamps: %+v, %v", got, err)
	}
	body = "go_gc_gogc_percent 75\ngo_gc_gomemlimit_bytes 2.2748859187e+10\n"
	if got, err := RunningGC(t.Context(), server.URL); err != nil || got != (cell.GC{Percent: 75, LimitBytes: 21695 << 20}) {
		t.Errorf("metrics of a share of the machine's memory: %+v, %v", got, err)
	}
	body = "go_gc_gogc_percent 0\n"
	if _, err := RunningGC(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("metrics of GOGC=0: %v", err)
	}
	body = "up 1\n"
	if _, err := RunningGC(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "--current") {
		t.Errorf("no metrics: %v", err)
	}
	if _, err := RunningGC(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "--current") {
		t.Error("neither process nor URL: no error")
	}
	if runtime.GOOS != "linux" {
		return
	}
	for name, args := range map[string][]string{os.Args[0]: {"-test.run=^TestRunningGC$"}, "sleep": {"60"}} {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "SESSION_TEST_WAIT=1", "GOGC=300", "GOMEMLIMIT=64MiB")
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		// The kernel publishes the environment a moment after it has loaded the program.
		environ := fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)
		for data, err := os.ReadFile(environ); err == nil && len(data) == 0; data, err = os.ReadFile(environ) {
			runtime.Gosched()
		}
		got, err := RunningGC(t.Context(), fmt.Sprint(cmd.Process.Pid))
		switch {
		case name == "sleep" && (err == nil || !strings.Contains(err.Error(), "not Go")):
			t.Errorf("a program that is not Go: %+v, %v", got, err)
		case name != "sleep" && (err != nil || got != cell.GC{Percent: 300, LimitBytes: 64 << 20}):
			t.Errorf("process: %+v, %v", got, err)
		}
	}
}

// TestShortLoad: of a server whose runs are too short, the load is to be longer; of a program, what it does.
func TestShortLoad(t *testing.T) {
	for served, want := range map[bool]string{true: "give a longer or heavier load", false: "tune a command that does more"} {
		l := &TuneLog{status: NewStatus(io.Discard), served: served}
		err := l.Failed(tune.ErrShort)
		if !errors.Is(err, tune.ErrShort) || !strings.Contains(err.Error(), "less than 50 ms") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("served %v: %v, want %s", served, err, want)
		}
	}
}

// TestStepsInAPipe: a line each ten seconds, with the time left.
func TestStepsInAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		l := &TuneLog{status: NewStatus(&b)}
		for i := range 9 {
			l.begin(tune.Step{Doing: "looking at GOGC=400", Done: i, Planned: 20, Left: 42 * time.Second})
			time.Sleep(3 * time.Second)
		}
		l.status.End()
		want := "10s: run 4 of at most 20, 42s left: looking at GOGC=400\n" +
			"20s: run 7 of at most 20, 42s left: looking at GOGC=400\n"
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	})
	var out outputFile
	out.path = t.TempDir() + "/reports/run-1.log"
	for range 20 {
		out.Write(make([]byte, 1<<20))
	}
	out.Close()
	if info, err := os.Stat(out.path); err != nil || info.Size() != mostOutput {
		t.Errorf("%v, %v: want %d bytes kept", info, err, mostOutput)
	}
}
