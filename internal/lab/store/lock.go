package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrLocked is wrapped in the error of Lock if another process holds the lock.
var ErrLocked = errors.New("in use")

// Lock takes the measuring lock of the store at path, so that two labs do not
// disturb each other's figures. It does not wait: if another process holds the
// lock, the error names it. The lock ends with unlock or with the process, no
// matter how it ends. Reading needs no lock.
//
// The lock is on the file path+".lock", which is never deleted.
func Lock(path string) (unlock func(), err error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("store: lock: %w", err)
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if !errors.Is(err, ErrLocked) {
			return nil, fmt.Errorf("store: lock %s: %w", name, err)
		}
		holder := "another process"
		if pid, err := io.ReadAll(io.LimitReader(f, 20)); err == nil && len(pid) > 0 {
			holder = "process " + strings.TrimSpace(string(pid))
		}
		return nil, fmt.Errorf("store: lock %s: %w by %s", name, ErrLocked, holder)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil { // a full disk; the lock itself holds
		f.Truncate(0)
	}
	return func() { f.Close() }, nil
}
