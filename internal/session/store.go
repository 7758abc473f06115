package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// Open opens the store for writing, and creates it if it is missing.
func (se *Session) Open() (s *store.Store, path string, err error) {
	if path, err = se.StorePath(); err != nil {
		return nil, "", err
	}
	s, err = store.Open(path)
	return s, path, err
}

// OpenForRun opens the store and takes the lock that prevents concurrent runs. If existing
// is set, it fails rather than create a store: to resume or change a run needs one.
func (se *Session) OpenForRun(existing bool) (s *store.Store, path string, unlock func(), err error) {
	if existing {
		if s, err = se.OpenForReading(); err != nil {
			return nil, "", nil, err
		}
		s.Close()
	}
	if s, path, err = se.Open(); err != nil {
		return nil, "", nil, err
	}
	if unlock, err = lock(path); err != nil {
		s.Close()
		return nil, "", nil, err
	}
	return s, path, unlock, nil
}

// lock takes the lock of the store, or of something beside it, and says what to do if it cannot.
func lock(path string) (unlock func(), err error) {
	unlock, err = store.Lock(path)
	switch {
	case errors.Is(err, store.ErrLocked):
		err = fmt.Errorf("%w, which is measuring: wait until it is done, or the two would disturb each other", err)
	case err != nil:
		err = fmt.Errorf("%w: choose another place with --store FILE or ISOBAR_STORE", err)
	}
	return unlock, err
}

// storeName is the file name of the default store.
const storeName = "isobar.db"

// beside returns a directory beside the store for its files. A store with another than the
// default name has its own subdirectory, because runs of all stores have the same numbers.
func beside(store, dir string) string {
	own := filepath.Base(store)
	if own == storeName {
		own = ""
	}
	return filepath.Join(filepath.Dir(store), dir, own)
}

// StorePath is the path of the store: --store, $ISOBAR_STORE, or isobar.db in
// the user's data directory. It creates nothing.
func (se *Session) StorePath() (string, error) {
	if se.Store != "" {
		return se.Store, nil
	}
	if path := os.Getenv("ISOBAR_STORE"); path != "" {
		return path, nil
	}
	dir, err := dataDir(runtime.GOOS, os.Getenv)
	if err != nil {
		return "", fmt.Errorf("%w: set ISOBAR_STORE or give --store FILE", err)
	}
	return filepath.Join(dir, storeName), nil
}

// dataDir is the directory for the user's data: $XDG_DATA_HOME/isobar if that
// is set (XDG Base Directory Specification), otherwise the platform's own.
func dataDir(goos string, getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "isobar"), nil
	}
	parent, below := "HOME", filepath.Join(".local", "share", "isobar")
	switch goos {
	case "windows":
		parent, below = "LocalAppData", "isobar"
	case "darwin", "ios":
		below = filepath.Join("Library", "Application Support", "isobar")
	}
	dir := getenv(parent)
	if dir == "" {
		return "", errors.New("no place for the store: " + parent + " is not set")
	}
	return filepath.Join(dir, below), nil
}

// Command returns the command line that runs isobar with args on the store.
func (se *Session) Command(args string) string {
	path, err := se.StorePath()
	if usual, _ := new(Session).StorePath(); err != nil || path == usual {
		return "isobar " + args
	}
	return "isobar --store " + cell.Quote(path) + " " + args
}

// OpenForReading opens the store read-only.
func (se *Session) OpenForReading() (*store.Store, error) {
	path, err := se.StorePath()
	if err != nil {
		return nil, err
	}
	return store.OpenReadOnly(path)
}

// OpenRun opens the store read-only and finds a run in it.
func (se *Session) OpenRun(id string) (*store.Store, store.Run, error) {
	s, err := se.OpenForReading()
	if err != nil {
		return nil, store.Run{}, err
	}
	run, err := FindRun(s, id)
	if err != nil {
		s.Close()
		return nil, store.Run{}, err
	}
	return s, run, nil
}

// FindRun finds a run by its number or as "last".
func FindRun(s *store.Store, id string) (store.Run, error) {
	if id == "last" {
		return s.Last()
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return store.Run{}, Misused(fmt.Errorf("run %q: want a number from 'isobar lab list', or last", id))
	}
	return s.Run(n)
}
