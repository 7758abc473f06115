package manifests

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verify has systemd look at a unit with the drop-in, and returns what it says;
// nothing if all is well.
func verify(t *testing.T, dropIn string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatalf("%v: install systemd, as deploy/check.sh does", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "shop.service.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(dir, "shop.service")
	for name, text := range map[string]string{
		unit: "[Service]\nExecStart=/bin/true\n",
		filepath.Join(dir, "shop.service.d", "gc.conf"): dropIn,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil && len(output) == 0 {
		return err.Error()
	}
	return string(output)
}

func TestSystemdDropIn(t *testing.T) {
	forAnswers(t, "systemd", func(t *testing.T, a answer, text string) {
		if problem := verify(t, text); problem != "" {
			t.Errorf("systemd-analyze: %s", problem)
		}
		got := map[string]string{}
		line := regexp.MustCompile(`(?m)^Environment=(.*)$`).FindStringSubmatch(text)
		if line == nil {
			t.Fatal("no line Environment")
		}
		for _, entry := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(entry, "=")
			got[name] = value
		}
		checkEnv(t, got, a.env)
	})
	for what, text := range map[string]string{
		"a memory of another form": "[Service]\nMemoryMax=64MiB\n",
		"a quota without percent":  "[Service]\nCPUQuota=0.5\n",
		"a key that is none":       "[Service]\nEnv=GOGC=off\n",
	} {
		if verify(t, text) == "" {
			t.Errorf("a drop-in with %s passes", what)
		}
	}
}

func TestShell(t *testing.T) {
	forAnswers(t, "shell", func(t *testing.T, a answer, text string) {
		script := filepath.Join(t.TempDir(), "run.sh")
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
			t.Fatalf("sh -n: %v: %s", err, output)
		}
		cmd := exec.Command("sh", script, "env")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		output, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(output)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				got[name] = value
			}
		}
		checkEnv(t, got, a.env)
		if len(got) == 0 {
			t.Errorf("no variables, want %v", slices.Sorted(maps.Keys(a.env)))
		}
	})
}
