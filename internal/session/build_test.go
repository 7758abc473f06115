package session

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestBinary: on Windows only files named .exe can be started.
func TestBinary(t *testing.T) {
	for want, p := range map[string]Program{"program": {Main: "."}, "bench.test": {Bench: "."}} {
		b := &Built{dir: "built", options: p}
		linux, windows := b.binary(cell.Build{}, "linux"), b.binary(cell.Build{}, "windows")
		if filepath.Base(linux) != want || windows != linux+".exe" {
			t.Errorf("%+v: %s and %s", p, linux, windows)
		}
	}
}

// TestPrepareTwice: a second process that tunes the same package neither replaces nor
// removes the binaries that the first one runs.
func TestPrepareTwice(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/once\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	se := &Session{Out: io.Discard, Err: io.Discard, Store: filepath.Join(dir, "isobar.db")}
	first, err := se.Prepare(t.Context(), Program{Main: "."}, false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := se.Prepare(t.Context(), Program{Main: "."}, false, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "wait until it is done") {
		t.Errorf("a second one at once: %v", err)
	}
	if _, err := os.Stat(first.Command[0]); err != nil {
		t.Errorf("the first one's program: %v", err)
	}
	first.Remove()
	second, err := se.Prepare(t.Context(), Program{Main: "."}, false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	second.Remove()
}
