package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// TestFailures: the runner returns a record for every kind of ending.
func TestFailures(t *testing.T) {
	short := func(c cell.Cell) cell.Cell { c.Timeout = 300 * time.Millisecond; return c }
	capped := func(c cell.Cell) cell.Cell { c.MemoryBytes = 256 << 20; return c }
	unknown := testCell("test-closed")
	unknown.Params = map[string]string{"opps": "3"}
	noCommand := testCell("exec")
	missing := testCell("exec")
	missing.Command = []string{"no-such-program-here"}
	for name, tc := range map[string]struct {
		cell    cell.Cell
		kind    cell.FailureKind
		message string
	}{
		"timeout":          {short(testCell("test-sleep")), cell.FailTimeout, "300ms"},
		"memory":           {capped(testCell("test-hog")), cell.FailMemory, "cap of 256 MiB"},
		"signal":           {testCell("test-signal"), cell.FailKilled, "killed"},
		"panic":            {testCell("test-panic"), cell.FailCrash, "panic: no luck"},
		"exit":             {testCell("test-exit"), cell.FailCrash, "status 3"},
		"garbage":          {testCell("test-garbage"), cell.FailCrash, "not a record"},
		"flood":            {testCell("test-flood"), cell.FailCrash, "exceeds"},
		"workload error":   {testCell("test-error"), cell.FailWorkload, "workload: test-error: ticks.csv:3:7"},
		"unknown workload": {testCell("test-clsed"), cell.FailWorkload, "did you mean"},
		"unknown param":    {unknown, cell.FailWorkload, `did you mean "ops"`},
		"no command":       {noCommand, cell.FailWorkload, "after --"},
		"missing command":  {missing, cell.FailWorkload, "no-such-program-here"},
		"program fails":    {testCell("", "fail"), cell.FailExit, "status 3: no luck today"},
		"on its output":    {testCell("", "quota"), cell.FailExit, "status 4: quota exceeded"},
		"on both":          {testCell("", "quota", "no luck"), cell.FailExit, "status 4: no luck"},
		"program killed":   {testCell("", "kill"), cell.FailKilled, "killed"},
		"program timeout":  {short(testCell("", "sleep")), cell.FailTimeout, "300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && (name == "memory" || name == "signal" || name == "program killed") {
				t.Skip("needs signals and /proc")
			}
			rec := run(t, tc.cell)
			if rec.Err == nil || rec.Err.Kind != tc.kind || !strings.Contains(rec.Err.Message, tc.message) {
				t.Errorf("Err = %v, want %s with %q", rec.Err, tc.kind, tc.message)
			}
			if rec.Started.IsZero() || rec.Cell.Workload != tc.cell.Workload {
				t.Errorf("record of %q begun %v", rec.Cell.Workload, rec.Started)
			}
		})
	}
}

func TestPanicKeepsStderr(t *testing.T) {
	rec := run(t, testCell("test-panic"))
	if !strings.Contains(rec.Stderr, "about to fail") || !strings.Contains(rec.Stderr, "goroutine 1") {
		t.Errorf("Stderr = %q", rec.Stderr)
	}
}

func TestStrayProcessDoesNotHoldTheCell(t *testing.T) {
	if rec := run(t, testCell("test-stray")); rec.Err != nil {
		t.Error(rec.Err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, _, err := New(Config{}).Run(ctx, testCell("test-sleep"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
	if _, _, err := New(Config{}).Run(ctx, testCell("test-closed")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: err = %v, want context.Canceled", err)
	}
}

func TestNoExecutable(t *testing.T) {
	r := New(Config{Executable: func(context.Context, cell.Build) (string, error) {
		return filepath.Join(t.TempDir(), "gone"), nil
	}})
	if _, _, err := r.Run(t.Context(), testCell("test-closed")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v, want one that says that the file is missing", err)
	}
	bad := cell.Build{Collector: "red"}
	_, err := Executable(t.Context(), bad, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "classic or goarenas") {
		t.Errorf("unknown collector: %v", err)
	}
	bad = cell.Build{Go: "latest"}
	if _, err := Executable(t.Context(), bad, os.Stderr); err == nil || !strings.Contains(err.Error(), "such as 1.27.4") {
		t.Errorf("unknown version of Go: %v", err)
	}
	t.Setenv("PATH", "")
	other := "classic"
	if ownCollector() == other {
		other = "greentea"
	}
	bad = cell.Build{Collector: other}
	if _, err := Executable(t.Context(), bad, os.Stderr); err == nil || !strings.Contains(err.Error(), "no Go toolchain") {
		t.Errorf("no toolchain: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GOGC", "7")
	t.Setenv("GOMEMLIMIT", "7GiB")
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("GODEBUG", "gctrace=1,madvdontneed=1")
	c := testCell("test-env")
	c.GC = cell.GC{Percent: 50, LimitBytes: 1 << 30}
	c.GOMAXPROCS = 2
	rec := run(t, c)
	var got []string
	for _, w := range rec.Warnings {
		got = append(got, w.Text)
	}
	for _, want := range []string{"GOGC=50", "GOMEMLIMIT=1073741824", "GOMAXPROCS=2", "GODEBUG=madvdontneed=1"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	c.GOMAXPROCS = 0
	if rec := run(t, c); !slices.ContainsFunc(rec.Warnings, func(w cell.Warning) bool { return w.Text == "GOMAXPROCS=" }) {
		t.Errorf("GOMAXPROCS is inherited: %v", rec.Warnings)
	}
}

func TestClosed(t *testing.T) {
	for _, workers := range []string{"1", "3"} {
		c := testCell("test-closed")
		c.Params = map[string]string{"ops": "10001", "workers": workers}
		c.GC = cell.DefaultGC
		rec := run(t, c)
		if rec.Err != nil {
			t.Fatal(rec.Err)
		}
		m := rec.Metrics
		if m[cell.Ops] != 10001 || rec.Check != "0000000000007533" {
			t.Errorf("%v operations, check %s; want 10001 and 3 times that", m[cell.Ops], rec.Check)
		}
		var h latency.Histogram
		if err := h.UnmarshalBinary(rec.Latency[cell.HistService]); err != nil || h.Count() != 5000 {
			t.Errorf("%d service times, %v; want 5000", h.Count(), err)
		}
		allocs, bytes := m[cell.OpAllocs], m[cell.OpBytes]
		if workers == "1" && (allocs < 1 || allocs > 1.1 || bytes < 64<<10 || bytes > 70<<10) {
			t.Errorf("%v allocations of %v bytes an operation, want 1 of 65536", allocs, bytes)
		}
		for _, name := range []string{cell.OpTime, cell.Throughput, cell.WallTime, cell.HeapMax, cell.HeapEnd, cell.GoalMax,
			cell.SysMax, cell.GCCycles, cell.GCPauseTotal, cell.GCPauseLast, cell.GCPauseMax, cell.GCCPUTotal, cell.GCCPUShare} {
			if m[name] <= 0 {
				t.Errorf("%s = %v", name, m[name])
			}
		}
		if m[cell.GCForced] != 0 {
			t.Errorf("%v forced cycles are in the figures", m[cell.GCForced])
		}
		checkTimeline(t, rec)
	}
}

func checkTimeline(t *testing.T, rec cell.Record) {
	t.Helper()
	l := rec.Timeline
	heaps, goals, sys, cycles := len(l.HeapBytes), len(l.GoalBytes), len(l.SysBytes), len(l.Cycles)
	if n := len(l.AtNs); n < 2 || heaps != n || goals != n || sys != n || cycles != n {
		t.Errorf("timeline columns: %d %d %d %d %d", n, heaps, goals, sys, cycles)
	}
	if !slices.IsSorted(l.AtNs) || !slices.IsSorted(l.Cycles) || l.Cycles[0] != 0 {
		t.Error("the timeline is not in order of time")
	}
	var pauses uint64
	for _, n := range rec.Buckets[cell.HistPause].Count {
		pauses += n
	}
	if pauses < uint64(rec.Metrics[cell.GCCycles]) {
		t.Errorf("%d pauses in the histogram of %v cycles", pauses, rec.Metrics[cell.GCCycles])
	}
	if len(rec.Pauses) == 0 || len(rec.Buckets[cell.HistSched].Count) == 0 {
		t.Errorf("%d pauses, %d buckets of scheduler latency", len(rec.Pauses), len(rec.Buckets[cell.HistSched].Count))
	}
}

// TestClosedUntimed: an untimed loop spends all its operations on time, CPU and allocation per
// operation, and has no latencies.
func TestClosedUntimed(t *testing.T) {
	c := testCell("test-closed")
	c.Params, c.GC, c.Untimed = map[string]string{"ops": "10001", "workers": "3"}, cell.DefaultGC, true
	rec := run(t, c)
	ops, took := rec.Metrics[cell.Ops], rec.Metrics[cell.OpTime]
	if rec.Err != nil || ops != 10001 || rec.Check != "0000000000007533" || took <= 0 {
		t.Errorf("%v operations of %v ns, check %s, %v", ops, took, rec.Check, rec.Err)
	}
	if len(rec.Latency[cell.HistService]) > 0 {
		t.Error("there are service times, and no operation was to be timed")
	}
}

func TestClosedByTime(t *testing.T) {
	c := testCell("test-closed")
	c.Params = map[string]string{"ops": "0", "time": "100ms", "workers": "2"}
	c.GC = cell.DisabledGC
	rec := run(t, c)
	if rec.Err != nil || rec.Metrics[cell.Ops] < 2 || rec.Check != "" {
		t.Errorf("%v operations, check %q, %v", rec.Metrics[cell.Ops], rec.Check, rec.Err)
	}
	if _, ok := rec.Metrics[cell.GoalMax]; ok || rec.Timeline.GoalBytes != nil || rec.Metrics[cell.GCCycles] != 0 {
		t.Errorf("collection is off: goal %v, %v cycles", rec.Metrics[cell.GoalMax], rec.Metrics[cell.GCCycles])
	}
	c.Params = map[string]string{"ops": "0", "time": "0s"}
	if rec := run(t, c); rec.Err == nil || !strings.Contains(rec.Err.Message, "want a bound") {
		t.Errorf("no bound: %v", rec.Err)
	}
}

func TestOpen(t *testing.T) {
	rec := run(t, testCell("test-open"))
	m := rec.Metrics
	if rec.Err != nil || m[cell.Scheduled] != 200 || m[cell.Done] != 200 || rec.Check != "00000000000000c8" {
		t.Errorf("%v of %v done, check %s, %v", m[cell.Done], m[cell.Scheduled], rec.Check, rec.Err)
	}
	for _, name := range []string{cell.HistResponse, cell.HistService} {
		var h latency.Histogram
		if err := h.UnmarshalBinary(rec.Latency[name]); err != nil || h.Count() != 200 {
			t.Errorf("%s: %d values, %v", name, h.Count(), err)
		}
	}
	bad := testCell("test-open")
	bad.Params = map[string]string{"bad": "100"}
	if rec := run(t, bad); rec.Err == nil || rec.Err.Kind != cell.FailWorkload || rec.Metrics[cell.Done] != 100 {
		t.Errorf("a broken schedule: %v after %v operations, want a failure after 100", rec.Err, rec.Metrics[cell.Done])
	}
}

// TestOpenReportsBacklog runs a loop that cannot keep up, and ends by itself after three quarters
// of its timeout. Only what was due by then counts: 10 operations per millisecond.
func TestOpenReportsBacklog(t *testing.T) {
	c := testCell("test-open")
	c.Params = map[string]string{"ops": "100000", "take": "5ms"}
	c.Timeout = time.Second
	rec := runCell(c, newProfileSet("", nil), nil)
	due, done := rec.Metrics[cell.Scheduled], rec.Metrics[cell.Done]
	if rec.Err != nil || !hasWarning(rec, "backlog") || due <= done || due > 7500 {
		t.Errorf("%v of %v done, want at most 7500 due; %v, warnings %v", done, due, rec.Err, rec.Warnings)
	}
}

func hasWarning(rec cell.Record, code string) bool {
	return slices.ContainsFunc(rec.Warnings, func(w cell.Warning) bool { return w.Code == code })
}

func TestProfiles(t *testing.T) {
	c := testCell("test-closed")
	c.Profiles = []string{"cpu", "heap", "allocs", "trace"}
	rec, profiles, err := New(Config{}).Run(t.Context(), c)
	if err != nil || rec.Err != nil {
		t.Fatal(err, rec.Err)
	}
	for _, kind := range c.Profiles {
		if name, ok := rec.Profiles[kind]; !ok || name != "" || len(profiles[kind]) == 0 {
			t.Errorf("%s: %d bytes, named %q, %v", kind, len(profiles[kind]), name, ok)
		}
	}
	c.Profiles = []string{"block"}
	if rec := run(t, c); rec.Err == nil || !strings.Contains(rec.Err.Message, "want cpu, heap") {
		t.Errorf("unknown profile: %v", rec.Err)
	}
}

// TestKilledLabLeavesNoOrphan kills the lab while a program runs below its child, and
// waits for the program to be gone.
func TestKilledLabLeavesNoOrphan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at /proc")
	}
	file := filepath.Join(t.TempDir(), "pid")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(exe, "lab", "pid", file)
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitForPid(t, file)
	lab.Process.Kill()
	lab.Wait()
	waitUntilGone(t, pid)
}

// TestTimeoutReachesAnotherSession kills a program that left the process group.
func TestTimeoutReachesAnotherSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at /proc")
	}
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := New(Config{}).Run(ctx, testCell("", "escape", file))
		done <- err
	}()
	pid := waitForPid(t, file)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	waitUntilGone(t, pid)
}

func waitForPid(t *testing.T, file string) int {
	t.Helper()
	var pid int
	waitFor(t, "the program to start", func() bool {
		data, _ := os.ReadFile(file)
		n, err := strconv.Atoi(string(data))
		pid = n
		return err == nil
	})
	return pid
}

func waitUntilGone(t *testing.T, pid int) {
	t.Helper()
	waitFor(t, "the program to be gone", func() bool {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

// waitFor waits for a condition, as long as the test may run.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for !condition() {
		select {
		case <-t.Context().Done():
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
