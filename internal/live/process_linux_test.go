package live

import (
	"expvar"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// This process listens, so its feed shows the figures of its port and of the
// kernel.
func TestProcessThatListens(t *testing.T) {
	serve(t, prefix("/debug/vars", expvar.Handler()))
	f := openTest(t, strconv.Itoa(os.Getpid()), Config{})
	s := next(t, f)
	if !strings.Contains(f.Source(), "/debug/vars") {
		t.Errorf("source %q", f.Source())
	}
	if v := s.value(t, "/heap/objects:bytes"); !(v > 1e5) {
		t.Errorf("heap %v", v)
	}
	if v := s.value(t, "/memory/resident:bytes"); !(v > 1e6) {
		t.Errorf("resident %v", v)
	}
	if v := s.value(t, "/process/threads:threads"); !(v >= 2) {
		t.Errorf("%v threads", v)
	}
	if s.Process.PID != os.Getpid() || !strings.HasPrefix(s.Process.Go, "go1") {
		t.Errorf("process %+v", s.Process)
	}
}

func TestProcessThatDoesNot(t *testing.T) {
	shell := exec.Command("sleep", "60")
	if err := shell.Start(); err != nil {
		t.Skip(err)
	}
	defer shell.Wait()
	defer shell.Process.Kill()
	if _, err := Open(strconv.Itoa(shell.Process.Pid), Config{Interval: short}); err == nil || !strings.Contains(err.Error(), "not a Go program") {
		t.Errorf("sleep: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	const line = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 42 1 0 100 0 0 10 0\n"
	for _, c := range []struct{ table, address, state, want string }{
		{"tcp", "0100007F:1F90", "0A", "127.0.0.1:8080"},
		{"tcp", "0100007F:1F90", "01", ""}, // connected
		{"tcp", "00000000:0050", "0A", "127.0.0.1:80"},
		{"tcp", "0101A8C0:0050", "0A", ""},
		{"tcp6", "00000000000000000000000000000000:1F90", "0A", "[::1]:8080"},
		{"tcp6", "00000000000000000000000001000000:1F90", "0A", "[::1]:8080"},
		{"tcp6", "0000000000000000FFFF00000100007F:1F90", "0A", "127.0.0.1:8080"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "net"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "net", c.table), fmt.Appendf(nil, line, c.address, c.state), 0o600); err != nil {
			t.Fatal(err)
		}
		network, err := procfs.NewFS(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := addresses(network, []string{"/dev/null", "socket:[42]"})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in state %s: %q, want %q", c.address, c.state, got, c.want)
		}
		if got := addresses(network, []string{"socket:[43]"}); len(got) > 0 {
			t.Errorf("%s: %q, of another process's socket", c.address, got)
		}
	}
}

// A file that is followed is closed with its feed: isobar ui opens one again and again.
func TestFileIsClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(name, []byte(traceLine(1, "1", 4, 6, 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && target == name {
				n++
			}
		}
		return n
	}
	f := openTest(t, name, Config{})
	next(t, f)
	if n := open(); n != 1 {
		t.Fatalf("the file is open %d times while it is followed", n)
	}
	f.Close()
	for deadline := time.Now().Add(10 * time.Second); open() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the file is open after Close")
		}
	}
}
