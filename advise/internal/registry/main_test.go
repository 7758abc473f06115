package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestListIsCurrent(t *testing.T) {
	want, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "checks.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("checks.go does not list the directories: run go generate ./advise")
	}
}

const dummy = `package dummy

import "github.com/isobar-go/isobar/advise/check"

var Check = check.New(check.Check{
	Name: "dummy", Severity: check.Trap, Doc: "nothing", When: "never", WhenNot: "always",
	Run: func(*check.Pass) {},
})
`

// TestCheckIsOneDirectory adds a check by adding its directory: the list then names it,
// and the package builds.
func TestCheckIsOneDirectory(t *testing.T) {
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if _, err := os.Stat(filepath.Join(root, name, name+".go")); err == nil {
			write(t, filepath.Join(dir, name, name+".go"), "package "+name)
		}
	}
	source := write(t, filepath.Join(dir, "dummy", "dummy.go"), dummy)
	text, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "dummy.Check,") {
		t.Fatalf("the list does not name the new check:\n%s", text)
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(abs, "dummy", "dummy.go"): source,
		filepath.Join(abs, "checks.go"):         write(t, filepath.Join(dir, "checks.go"), string(text)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", write(t, filepath.Join(dir, "overlay.json"), string(overlay)), ".")
	cmd.Dir = abs
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with the new check: %v\n%s", err, out)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
