package attach

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// serving makes the test's binary a server that does nothing.
const serving = "ISOBAR_ATTACH_SERVING"

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		time.Sleep(time.Minute)
		return
	}
	os.Exit(m.Run())
}

// started starts a server by a shell, as its parent reaps it, and returns its number.
func started(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", start)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), serving+"=1", "EXE="+os.Args[0], "GOGC=70", "GOMEMLIMIT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return number(t, dir)
}

func number(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	pid, bad := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

const start = "\"$EXE\" serve >/dev/null 2>&1 & echo $! >pid; sleep 0.2"

func TestRestarted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(serving, "1")
	t.Setenv("EXE", os.Args[0])
	other := started(t, dir) // the same program with the same arguments, which is not to be tuned
	pid := started(t, dir)
	r, err := NewRestarted(pid, "kill $(cat pid); "+start, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Output, err = os.Create("output"); err != nil {
		t.Fatal(err)
	}
	defer r.Output.Close()
	want := cell.GC{Percent: -1, LimitBytes: 1 << 30}
	if err := r.Apply(t.Context(), want, 0); err != nil {
		t.Fatal(err)
	}
	now := number(t, dir)
	s, err := r.Look(t.Context())
	if err != nil || s.PID != now || s.PID == other || !same(s.GC, want) || s.Found.Percent != 70 {
		t.Errorf("%+v, %v; want process %d", s, err, now)
	}
	if group, err := syscall.Getpgid(now); err != nil || group == syscall.Getpgrp() {
		t.Errorf("Ctrl-C here reaches it, group %d: %v", group, err)
	}
	// It ends meanwhile, with nobody who reaps it at once, or somebody who does.
	syscall.Kill(now, syscall.SIGKILL)
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err = r.Look(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d has ended", now)) {
		t.Errorf("it has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Apply(ctx, want, 0); err == nil {
		t.Error("a restart begins after the end")
	}
	if err := r.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err := r.Look(t.Context()); err != nil || s.GC.Percent != 70 || s.GC.LimitBytes != 0 || s.PID != number(t, dir) {
		t.Errorf("restored: %+v, %v", s, err)
	}
	r.command = "echo no luck; exit 5"
	if err := r.Apply(t.Context(), want, 0); err == nil || !strings.Contains(err.Error(), "exit status 5") ||
		!strings.Contains(err.Error(), "what it printed is in") {
		t.Errorf("a command that fails: %v", err)
	}
	if printed, err := os.ReadFile("output"); err != nil || string(printed) != "no luck\n" {
		t.Errorf("%q, %v", printed, err)
	}
	r.command = "kill $(cat pid); unset GOGC GOMEMLIMIT; " + start
	if err := r.Apply(t.Context(), want, 0); err == nil || !strings.Contains(err.Error(), "must pass on GOGC") {
		t.Errorf("a command that drops the environment: %v", err)
	}
	number(t, dir)
	r.command = "kill $(cat pid); false"
	if err := r.Restore(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "by hand: export GOGC=70 GOMEMLIMIT=off; kill") {
		t.Errorf("it cannot be restored: %v", err)
	}
}

// TestRestartedIsGo: a process whose program no setting affects is refused.
func TestRestartedIsGo(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := NewRestarted(cmd.Process.Pid, "true", 0); err == nil || !strings.Contains(err.Error(), "not Go") {
		t.Errorf("sleep: %v", err)
	}
}
