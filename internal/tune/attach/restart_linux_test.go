package attach

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// serving makes the test binary a server that does nothing.
const serving = "ISOBAR_ATTACH_SERVING"

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		time.Sleep(time.Minute)
		return
	}
	os.Exit(m.Run())
}

// started starts a server through a shell, so that the test need not reap it, and returns its process ID.
func started(t *testing.T, dir string, env ...string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", start)
	cmd.Dir, cmd.Env = dir, append(cell.WithoutEnv(os.Environ(), "GOGC", "GOMEMLIMIT"), serving+"=1", "EXE="+os.Args[0])
	cmd.Env = append(cmd.Env, env...)
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

// TestRestartedElsewhere: a command that starts the server in another directory, in another session, or by another name,
// is told so, and what runs is not said to be down.
func TestRestartedElsewhere(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Setenv(serving, "1")
	t.Setenv("EXE", os.Args[0])
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = 100 * time.Millisecond
	for _, tc := range []struct{ command, in, runs string }{
		{"cd " + other + "; " + start, other, os.Args[0] + " serve, in " + other},
		{"cd " + other + "; setsid sh -c '" + start + "'", other, os.Args[0] + " serve, in " + other},
		{"cd " + dir + "; ln -sf \"$EXE\" server; EXE=./server; " + start, dir, "./server serve, in " + dir},
	} {
		r, err := NewRestarted(started(t, dir), "kill $(cat "+dir+"/pid); "+tc.command, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range []func() error{
			func() error { return r.Apply(t.Context(), cell.GC{Percent: 300}, 0) },
			func() error { return r.Restore(t.Context()) },
		} {
			err := do()
			says := fmt.Sprintf("it started process %d, of the command line %s; want a new process of the command line "+
				"%s serve, in %s: ", number(t, tc.in), tc.runs, os.Args[0], dir)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v\nwant %s", err, says)
			}
		}
	}
}

// TestRestartedIsNotAnother: a process of the same command line that the command did not start is not the server.
func TestRestartedIsNotAnother(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	t.Setenv(serving, "1")
	t.Setenv("EXE", os.Args[0])
	r, err := NewRestarted(started(t, dir), "kill $(cat pid); { sleep 1; "+start+"; } >/dev/null 2>&1 &", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = 100 * time.Millisecond
	started(t, other)
	if err := r.Apply(t.Context(), cell.GC{Percent: 300}, 0); err != nil || r.pid != number(t, dir) {
		t.Errorf("process %d, want %d: %v", r.pid, number(t, dir), err)
	}
}

// TestAgeOfAnything: /proc of a container may hold less than that of Linux.
func TestAgeOfAnything(t *testing.T) {
	stat := "7 (a) b) S" + strings.Repeat(" 1", 18) + " 300"
	for _, tc := range []struct {
		stat, uptime string
		age          time.Duration
	}{{stat, "5.00 9.00\n", 2 * time.Second}, {stat, "", 0}, {stat, " \n", 0}, {stat, "x", 0}, {"", "5.00 9.00", 0}, {"7 (a) S 1", "5", 0}} {
		r := &Restarted{pid: 7, proc: fstest.MapFS{"7/stat": {Data: []byte(tc.stat)}, "uptime": {Data: []byte(tc.uptime)}}}
		if age := r.age(); age != tc.age {
			t.Errorf("stat %q, uptime %q: %v", tc.stat, tc.uptime, age)
		}
	}
}

// TestSmallCPUTimes: the CPU time of a server that does little is not counted in hundredths of a second.
func TestSmallCPUTimes(t *testing.T) {
	r, err := NewRestarted(os.Getpid(), "true", 0)
	if err != nil {
		t.Fatal(err)
	}
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	const microsecond = 1e-6 // of either sum
	for range 20 {
		least := used() - 2*microsecond
		s, err := r.Look(t.Context())
		if most := used() + 2*microsecond; err != nil || s.CPU < least || s.CPU > most {
			t.Errorf("%v s, want %v to %v; %v", s.CPU, least, most, err)
		}
	}
}

// TestYoungProcess: what a process occupies while it starts is no measure of what it needs.
func TestYoungProcess(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRestarted(started(t, dir), "true", 1500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	r.Log = func(string) { said++ }
	for range 2 {
		if s, err := r.Look(t.Context()); err != nil || r.age() < r.settle {
			t.Errorf("after %v of %v: %+v, %v", r.age(), r.settle, s, err)
		}
	}
	if said != 1 {
		t.Errorf("it says %d times that it waits", said)
	}
	r.settle = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Look(ctx); err == nil {
		t.Error("it waits though interrupted")
	}
}

func TestRestarted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(serving, "1")
	t.Setenv("EXE", os.Args[0])
	other := started(t, dir, "GOGC=70", "GOMEMLIMIT=") // the same program and arguments, but not the one to tune
	pid := started(t, dir, "GOGC=70", "GOMEMLIMIT=")
	r, err := NewRestarted(pid, "kill $(cat pid); "+start, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Output, err = os.Create("output"); err != nil {
		t.Fatal(err)
	}
	defer r.Output.Close()
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = 0
	var said []string
	r.Log = func(text string) { said = append(said, text) }
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
	// The process ends, whether or not somebody reaps it at once.
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
	if len(said) != 1 || !strings.Contains(said[0], dir) {
		t.Errorf("of two restarts that take long it says %q", said)
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
	// The command fails, but has started the server.
	until := `; until [ "$(tr -d '\0' </proc/$(cat pid)/cmdline)" = "${EXE}serve" ]; do sleep 0.01; done; exit 5`
	r.command = "kill $(cat pid); " + start + until
	if err := r.Apply(t.Context(), want, 0); err == nil || !strings.Contains(err.Error(), "exit status 5") ||
		r.pid != number(t, dir) {
		t.Errorf("process %d, want %d: %v", r.pid, number(t, dir), err)
	}
	if err := r.Restore(t.Context()); err != nil || r.pid != number(t, dir) || !r.has(r.found) {
		t.Errorf("process %d, want %d: %v", r.pid, number(t, dir), err)
	}
	if err := r.Apply(t.Context(), want, 0); err == nil {
		t.Error("a command that fails")
	}
	number(t, dir)
	byHand := "; by hand: unset GOGC GOMEMLIMIT; export GOGC=70 GOMEMLIMIT=; "
	r.command = "exit 6"
	if err := r.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), byHand+"exit 6") ||
		!strings.HasPrefix(err.Error(), fmt.Sprintf("process %d runs with another setting: ", r.pid)) {
		t.Errorf("it keeps running: %v", err)
	}
	r.command = "kill $(cat pid); while grep -q . /proc/$(cat pid)/cmdline; do sleep 0.01; done; false"
	if err := r.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), byHand+"kill") ||
		!strings.HasPrefix(err.Error(), "no process has its command line: ") {
		t.Errorf("it cannot be restored: %v", err)
	}
}

// TestRestartedKeepsTheEnvironment: if it has no GOGC or GOMEMLIMIT, today's blocks and the
// restored process have none either, as the program may then set them itself.
func TestRestartedKeepsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(serving, "1")
	t.Setenv("EXE", os.Args[0])
	r, err := NewRestarted(started(t, dir, "GOMEMLIMIT=3GiB"), "kill $(cat pid); "+start, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, gc := range []cell.GC{{Percent: 300}, r.found} {
		if err := r.Apply(t.Context(), gc, 0); err != nil {
			t.Fatal(err)
		}
		number(t, dir)
	}
	if _, env, err := r.settingOf(r.pid); err != nil || !slices.Equal(env, []string{"GOMEMLIMIT=3GiB"}) {
		t.Errorf("%q, %v", env, err)
	}
}

// TestRestartedIsGo: a process that is not Go is refused.
func TestRestartedIsGo(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := NewRestarted(cmd.Process.Pid, "true", 0); err == nil || !strings.Contains(err.Error(), "not Go") {
		t.Errorf("sleep: %v", err)
	}
	if _, err := NewRestarted(1<<30, "true", 0); err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("none: %v", err)
	}
	if _, err := newRestarted(denied{os.DirFS("/proc")}, os.Getpid(), "true", 0); err == nil ||
		!strings.Contains(err.Error(), "run tune as the user of that process") {
		t.Errorf("of another user: %v", err)
	}
}

// denied is /proc as another user sees it.
type denied struct{ fs.FS }

func (d denied) Open(name string) (fs.File, error) {
	if base := path.Base(name); base == "environ" || base == "exe" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}
