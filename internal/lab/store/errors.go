package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrFull is wrapped in errors if the disk or quota of a store is full. Stored data is
// intact; the store works again once there is room.
var ErrFull = errors.New("no space left for the store")

// ErrNotFound is wrapped in errors about a missing store, run or cell.
var ErrNotFound = errors.New("not found")

// An absence is an ErrNotFound that says what is missing and what to do.
type absence string

func (a absence) Error() string { return string(a) }
func (a absence) Unwrap() error { return ErrNotFound }

const errEmpty absence = "the store is empty: run 'isobar lab' to fill it"

// Reasons to refuse a file; see explain.
var (
	errForeign = errors.New("an SQLite file of another program: choose another with --store FILE or ISOBAR_STORE")
	errNewer   = errors.New("written by a newer version of isobar: update isobar, or choose another file with --store " +
		"FILE or ISOBAR_STORE")
)

// isCode reports whether err is an SQLite error with the given primary result code
// (https://www.sqlite.org/rescode.html).
func isCode(err error, code int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == code
}

// explain adds operation, file and remedy to an error, if there is one. A full
// disk shows as SQLITE_FULL, or as an I/O error if SQLite could not grow an
// auxiliary file.
func (s *Store) explain(operation string, err error) error {
	prefix := fmt.Sprintf("store: %s: %s", operation, s.path)
	switch {
	case err == nil:
		return nil
	case isCode(err, sqlite3.SQLITE_FULL), isCode(err, sqlite3.SQLITE_IOERR) && diskFull(s.path):
		return fmt.Errorf("%s: %w: free some space, or choose another place with --store FILE: the data stored before is "+
			"kept (%w)", prefix, ErrFull, err)
	case isCode(err, sqlite3.SQLITE_CORRUPT), isCode(err, sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("%s: the store is damaged: restore it from a copy, or move it away to start a new one (%w)",
			prefix, err)
	case isCode(err, sqlite3.SQLITE_READONLY), isCode(err, sqlite3.SQLITE_CANTOPEN):
		return fmt.Errorf("%s: cannot write: choose another place with --store FILE or ISOBAR_STORE (%w)", prefix, err)
	case isCode(err, sqlite3.SQLITE_BUSY):
		return fmt.Errorf("%s: another process held the store for more than %v: try again when it is done (%w)", prefix,
			busyTimeout, err)
	}
	return fmt.Errorf("%s: %w", prefix, err)
}
