package layout

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestAMemoryModeIsOneFile adds testdata/mem_dummy.go to package http11 and
// nothing else, by the go command's -overlay, and uses the mode wherever modes
// are chosen: the tests of http11 over all modes, the lab, a service.
func TestAMemoryModeIsOneFile(t *testing.T) {
	if testing.Short() || invariant.Race {
		t.Skip("builds commands, none of them with the race detector")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := filepath.Join(dir, "overlay.json")
	file, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "http11", "mem_dummy.go"): filepath.Join(root, "internal", "layout", "testdata", "mem_dummy.go"),
	}})
	if err == nil {
		err = os.WriteFile(overlay, file, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	goOverlay := func(in string, args ...string) string {
		t.Helper()
		args = append([]string{args[0], "-overlay", overlay}, args[1:]...)
		return command(t, in, "", "go", args...)
	}

	t.Run("http11", func(t *testing.T) {
		tests := []string{"TestConformanceOfTheParser", "TestStaleViewsPanic", "TestWarmLeavesNoMisses",
			"TestRequestsAllocateNothing", "TestActiveRequestsFit", "TestNoMemoryIsSharedByTwo"}
		out := goOverlay(root, "test", "-v", "-run", "Modes|"+strings.Join(tests, "|"), "./http11")
		for _, want := range tests {
			if !strings.Contains(out, "--- PASS: "+want+"/dummy/") {
				t.Errorf("%s has not passed in mode dummy:\n%s", want, out)
			}
		}
	})
	t.Run("lab", func(t *testing.T) {
		isobar := filepath.Join(dir, "isobar.exe")
		goOverlay(root, "build", "-o", isobar, "./cmd/isobar")
		store := "ISOBAR_STORE=" + filepath.Join(dir, "store.db")
		for _, args := range []string{
			"httpmem --mode dummy --iterations 2000",
			"http --server dummy --rate 200 --connections 2 --duration 200ms",
		} {
			out := command(t, dir, store, isobar, strings.Fields("lab run "+args+" --reps 1 --json")...)
			if !strings.Contains(out, `"failed": 0`) || !strings.Contains(out, `"dummy"`) {
				t.Errorf("lab run %s: %s", args, out)
			}
		}
	})
	t.Run("service", func(t *testing.T) {
		sources, err := filepath.Glob(filepath.Join(root, "examples", "service", "*.go"))
		for _, source := range sources { // so that the test cache notices a change
			if _, e := os.ReadFile(source); e != nil {
				err = e
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		service := filepath.Join(dir, "service.exe")
		goOverlay(filepath.Join(root, "examples"), "build", "-o", service, "./service")
		if mode := servedMode(t, dir, service, "-quiet", "-listen", "127.0.0.1:0", "-memory", "dummy"); mode != 200 {
			t.Errorf("the service has memory mode %d, want 200", mode)
		}
	})
}

// servedMode starts the example service and returns the mode in its statistics.
func servedMode(t *testing.T, dir, service string, args ...string) int {
	t.Helper()
	cmd := exec.Command(service, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }() // killed: its exit status says nothing
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the service said %q, %v", line, err)
	}
	resp, err := http.Get("http://" + addr + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var stats struct{ Memory struct{ Mode int } }
	if err := json.Unmarshal(body, &stats); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return stats.Memory.Mode
}

// command runs a program in a directory, with one variable more in its
// environment, and returns what it wrote.
func command(t *testing.T, dir, env, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
