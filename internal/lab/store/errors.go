package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// ErrFull is wrapped by errors of a store whose disk, or quota, is full. What
// was stored before is intact; the store can be used again once there is room.
var ErrFull = errors.New("no space left for the store")

// ErrNotFound is wrapped by errors about a store, a run or a cell that does not
// exist, ErrEmpty by those about a store without runs.
var (
	ErrNotFound = errors.New("not found")
	ErrEmpty    = errors.New("the store is empty: 'isobar lab' measures and fills it")
)

// An absence is an ErrNotFound that says what is missing and what to do.
type absence string

func (a absence) Error() string { return string(a) }
func (a absence) Unwrap() error { return ErrNotFound }

// Reasons to refuse a file, see explain.
var (
	errForeign = errors.New("an SQLite file of another program: choose another with --store FILE or ISOBAR_STORE")
	errNewer   = errors.New("written by a newer version of isobar: update isobar, or choose another file with --store " +
		"FILE or ISOBAR_STORE")
)

// SQLite's primary result codes (https://www.sqlite.org/rescode.html).
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOError  = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// isCode reports whether err comes from SQLite with that primary result code.
func isCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// explain names operation, file and remedy. A full disk shows as SQLITE_FULL, or
// as an I/O error where SQLite could not grow one of its auxiliary files.
func (s *Store) explain(operation string, err error) error {
	prefix := fmt.Sprintf("store: %s: %s", operation, s.path)
	switch {
	case isCode(err, codeFull), isCode(err, codeIOError) && diskFull(s.path):
		return fmt.Errorf("%s: %w: make room there, or choose another place with --store FILE: what was stored before is "+
			"kept (%w)", prefix, ErrFull, err)
	case isCode(err, codeCorrupt), isCode(err, codeNotADB):
		return fmt.Errorf("%s: the store is damaged: restore it from a copy, or move it away to begin a new one (%w)",
			prefix, err)
	case isCode(err, codeReadOnly), isCode(err, codeCantOpen):
		return fmt.Errorf("%s: cannot be written: choose another place with --store FILE or ISOBAR_STORE (%w)", prefix, err)
	case isCode(err, codeBusy):
		return fmt.Errorf("%s: another process kept the store for more than %v: try again when it is done (%w)", prefix,
			busyTimeout, err)
	}
	return fmt.Errorf("%s: %w", prefix, err)
}
