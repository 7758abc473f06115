package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn writes files below a temporary directory used as root.
func standIn(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func TestNewWritesVersion2(t *testing.T) {
	root := standIn(t, "proc/self/mountinfo", mountV2, "proc/self/cgroup", "0::/a.slice/b.scope\n",
		"sys/fs/cgroup/a.slice/b.scope/cgroup.procs", "", "sys/fs/cgroup/a.slice/cgroup.subtree_control", "cpu memory pids\n",
		"proc/77/stat", "")
	for _, name := range []string{"isobar-0-1", "isobar-77-1", "isobar-x-1"} {
		if err := os.Mkdir(filepath.Join(root, "sys/fs/cgroup/a.slice", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g, err := New(root, Bounds{CPUs: 0.5, MemoryBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	procs := g.Procs()
	if len(procs) != 1 {
		t.Fatalf("%d files to join by, want one: %q", len(procs), procs)
	}
	if !strings.HasPrefix(procs[0], filepath.Join(root, "sys/fs/cgroup/a.slice/isobar-")) {
		t.Errorf("the group is %s, want it beside the own one, which hands nothing down", procs[0])
	}
	dir := filepath.Dir(procs[0])
	for name, want := range map[string]string{
		"cpu.max": "50000 100000", "memory.max": "67108864", "memory.swap.max": "0",
	} {
		if got := content(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, text := range map[string]string{
		"cpu.stat":      "usage_usec 9\nnr_periods 40\nnr_throttled 30\nthrottled_usec 1500000\n",
		"memory.events": "low 0\nmax 7\noom 1\noom_kill 2\n", "memory.peak": "67108000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := Usage{Periods: 40, Throttled: 30, ThrottledTime: 1500e6, OOMKills: 2, PeakBytes: 67108000}
	if got := g.Usage(); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	for name, stays := range map[string]bool{"isobar-0-1": false, "isobar-77-1": true, "isobar-x-1": true} {
		if _, err := os.Stat(filepath.Join(root, "sys/fs/cgroup/a.slice", name)); (err == nil) != stays {
			t.Errorf("group %s: %v, stays: want %v", name, err, stays)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, root := range map[string]string{
		"no control groups": standIn(t, "proc/self/cgroup", ""),
		"no controllers":    standIn(t, "proc/self/mountinfo", mountV2, "proc/self/cgroup", "0::/\n"),
		"a group elsewhere": standIn(t, "proc/self/mountinfo", mountMemory, "proc/self/cgroup", "4:memory:/x\n"),
	} {
		_, err := New(root, Bounds{CPUs: 1, MemoryBytes: 1 << 20})
		if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "systemd-run") {
			t.Errorf("%s: %v, want ErrNotAllowed and a remedy", name, err)
		}
	}
}

// TestGroupBounds checks that the kernel enforces a group's bounds.
func TestGroupBounds(t *testing.T) {
	g, err := New("/", Bounds{CPUs: 0.1, MemoryBytes: 24 << 20})
	if errors.Is(err, ErrNotAllowed) {
		t.Skipf("this machine does not allow it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	script := `for f do echo $$ >"$f" || exit 9; done
		i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done # uses up a quota of 10 ms
		exec dd if=/dev/zero of=/dev/null bs=200M count=1 iflag=fullblock # in one buffer, whatever interrupts it`
	err = exec.Command("sh", append([]string{"-c", script, "sh"}, g.Procs()...)...).Run()
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("the program ended with %v, want it killed", err)
	}
	u := g.Usage()
	if u.Throttled == 0 || u.ThrottledTime <= 0 || u.Periods < u.Throttled || u.OOMKills != 1 ||
		u.PeakBytes < 20<<20 || u.PeakBytes > 24<<20 {
		t.Errorf("usage %+v, want it throttled, and killed once at 24 MiB", u)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	for _, name := range g.Procs() {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestRemoveEndsWhatIsLeft removes a group with a process that does not end by itself.
func TestRemoveEndsWhatIsLeft(t *testing.T) {
	g, err := New("/", Bounds{MemoryBytes: 64 << 20})
	if errors.Is(err, ErrNotAllowed) {
		t.Skipf("this machine does not allow it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `echo $$ >"$1"; echo in; exec sleep 1000`, "sh", g.Procs()[0])
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 3))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the process ended by itself")
	}
}
