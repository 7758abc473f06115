package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	check := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("%v, %v: a temporary file was left behind", all, err)
		}
	}
	for _, content := range []string{"one", "two"} {
		if err := Bytes(name, 0o640, []byte(content)); err != nil {
			t.Fatal(err)
		}
		check(content)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	broken := errors.New("broken")
	err := Write(name, 0o640, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	check("two")
}

func TestWriteKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := Bytes(link, 0o600, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(target)
	info, failed := os.Lstat(link)
	if err != nil || failed != nil || string(got) != "new" || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v; the link is %v, %v", got, err, info, failed)
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for range 2 {
		if err := Check(name); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(dir); err == nil {
		t.Error("a directory may be replaced")
	}
	if err := Check(filepath.Join(dir, "none", "f")); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), Prefix) {
		t.Errorf("no directory: %v", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v: a temporary file was left behind", all, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := Bytes(filepath.Join(dir, "none", "f"), 0o600, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	full := filepath.Join(dir, "dir")
	if err := os.MkdirAll(filepath.Join(full, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Bytes(full, 0o600, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v: a temporary file was left behind", all, err)
	}
}
