package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOthersStore: a user who may read the store but not write beside it can read it.
func TestOthersStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.CreateRun(Run{}, testPlan(1))
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(name, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(name, 0o755)
	}
	if os.Geteuid() == 0 { // this thread accesses files as nobody
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		unix.Setfsuid(65534)
		defer unix.Setfsuid(0)
	}
	if f, err := os.Create(filepath.Join(dir, "beside")); err == nil {
		f.Close()
		t.Skip("everybody may write here")
	}
	if s, err = OpenReadOnly(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Run(id); err != nil {
		t.Error(err)
	}
}
