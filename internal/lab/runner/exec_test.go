package runner

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// TestExecCountsEveryCycle compares the cycles read from the trace with the program's own count,
// while its threads write to the same stderr.
func TestExecCountsEveryCycle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs packet pipes")
	}
	t.Setenv("GODEBUG", "madvdontneed=1")
	file := filepath.Join(t.TempDir(), "count")
	rec, _, err := New(Config{}).Run(t.Context(), testCell("", "churn", file))
	if err != nil || rec.Err != nil {
		t.Fatal(err, rec.Err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%.0f %.0f", rec.Metrics[cell.GCCycles], rec.Metrics[cell.GCForced]); got != string(data) {
		t.Errorf("cycles and forced ones: %s, the program counts %s", got, data)
	}
	for line := range strings.Lines(rec.Stderr[strings.IndexByte(rec.Stderr, '\n')+1:]) {
		if !strings.HasPrefix(line, "chatter ") || !strings.HasSuffix(strings.TrimRight(line, "x\n"), "program ") {
			t.Fatalf("the program's stderr is garbled: %q", line)
		}
	}
	for _, name := range []string{cell.WallTime, cell.TotalCPU, cell.RSSPeak, cell.MinorFaults, cell.HeapMax, cell.GoalMax,
		cell.GCPauseTotal, cell.GCPauseMax, cell.GCCPUTotal, cell.GCCPUShare} {
		if rec.Metrics[name] <= 0 {
			t.Errorf("%s = %v", name, rec.Metrics[name])
		}
	}
	if n := len(rec.Timeline.AtNs); n == 0 || len(rec.Timeline.HeapBytes) != n || len(rec.Timeline.Cycles) != n {
		t.Errorf("timeline of %d rows", n)
	}
	if hasWarning(rec, "gctrace-gaps") {
		t.Error(rec.Warnings)
	}
}

// TestExecLeavesUnset: a script that gives a variable a value only where it is unset does so under the default setting.
func TestExecLeavesUnset(t *testing.T) {
	c := testCell("", "fake")
	c.Command = []string{"sh", "-c", `test "${GOGC-none} ${GOMEMLIMIT-none}" = "$0"`, "none none"}
	c.Unset = []string{cell.EnvGOGC, cell.EnvLimit}
	if rec := run(t, c); rec.Err != nil {
		t.Error("unset today, set in the run:", rec.Err)
	}
	c.Command[3], c.GC = "400 1048576", cell.GC{Percent: 400, LimitBytes: 1 << 20}
	if rec := run(t, c); rec.Err != nil {
		t.Error("a candidate's:", rec.Err)
	}
	c.Command[3], c.GC, c.Unset = "100 off", cell.DefaultGC, nil
	if rec := run(t, c); rec.Err != nil {
		t.Error("by default both are set:", rec.Err)
	}
}

// TestExecAddsProcessesUp: two processes at once occupy about twice what one does.
func TestExecAddsProcessesUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	one, two := run(t, testCell("", "hold")), run(t, testCell("", "hold", "twice"))
	if one.Err != nil || two.Err != nil || hasWarning(one, "processes") || !hasWarning(two, "processes") {
		t.Fatal(one.Err, one.Warnings, two.Err, two.Warnings)
	}
	if _, several := one.Metrics[cell.RSSLargest]; several ||
		math.Abs(two.Metrics[cell.RSSLargest]/one.Metrics[cell.RSSPeak]-1) > 0.15 {
		t.Error("the largest process:", one.Metrics, two.Metrics)
	}
	ratio := two.Metrics[cell.RSSPeak] / one.Metrics[cell.RSSPeak]
	if ratio < 1.7 || ratio > 2.3 || two.Metrics[cell.Processes] != 2 {
		t.Errorf("%.2f times the memory of one, %v processes", ratio, two.Metrics[cell.Processes])
	}
}

func TestExecTellsFakesApart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs packet pipes")
	}
	rec := run(t, testCell("", "fake"))
	if rec.Err != nil || rec.Metrics[cell.GCRelayed] != 3 || !hasWarning(rec, "gctrace-relayed") || rec.Metrics[cell.ExitStatus] != 0 {
		t.Errorf("%v relayed, %v, %v", rec.Metrics[cell.GCRelayed], rec.Err, rec.Warnings)
	}
	if rec.Metrics[cell.GCCycles] > 2 || rec.Stderr != "" { // the test binary itself may collect at its start
		t.Errorf("%v cycles, stderr %q", rec.Metrics[cell.GCCycles], rec.Stderr)
	}
}

// TestExecSaysWhatIsNotGo: a program that is not Go has no count of collections, not a count of 0.
func TestExecSaysWhatIsNotGo(t *testing.T) {
	c := testCell("", "fail")
	if rec := run(t, c); hasWarning(rec, "not-go") {
		t.Error(rec.Warnings)
	}
	if runtime.GOOS == "windows" {
		t.Skip("has no sh")
	}
	c.Command = []string{"sh", "-c", "exit 0"}
	if rec := run(t, c); rec.Err != nil || !hasWarning(rec, "not-go") {
		t.Error(rec.Err, rec.Warnings)
	}
}

func TestExecKeepsFiguresOfAFailure(t *testing.T) {
	rec := run(t, testCell("", "fail"))
	if rec.Metrics[cell.ExitStatus] != 3 || rec.Metrics[cell.WallTime] <= 0 || !strings.Contains(rec.Stderr, "no luck today") {
		t.Errorf("status %v, wall %v, stderr %q", rec.Metrics[cell.ExitStatus], rec.Metrics[cell.WallTime], rec.Stderr)
	}
	rec = run(t, testCell("", "quota", "no luck"))
	if !strings.HasSuffix(rec.Stdout, "a result\nquota exceeded\n") || len(rec.Stdout) > 4096 || rec.Stderr != "no luck\n" {
		t.Errorf("standard output %d bytes, %q; standard error %q", len(rec.Stdout), rec.Stdout, rec.Stderr)
	}
}

// TestExecEndsWhatIsLeft: what a program leaves running in a session of its own is said, and ends with the run.
func TestExecEndsWhatIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a subreaper")
	}
	other := exec.Command("sleep", "3600") // not of the run
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	file := filepath.Join(t.TempDir(), "pid")
	rec := run(t, testCell("", "leave", file))
	if rec.Err != nil || !hasWarning(rec, "left-running") {
		t.Error(rec.Err, rec.Warnings)
	}
	data, _ := os.ReadFile(file)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, running := host.RSSBytes(pid); running {
		t.Error("still running:", pid)
	}
	if _, running := host.RSSBytes(other.Process.Pid); !running {
		t.Error("a process that is not of the run was ended")
	}
	if rec := run(t, testCell("", "fake")); hasWarning(rec, "left-running") {
		t.Error("nothing was left:", rec.Warnings)
	}
}
