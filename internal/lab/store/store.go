// Package store keeps runs: each run's plan, the record of every measured cell,
// and the requested profiles.
//
// A store is one SQLite file (pure Go: modernc.org/sqlite) in write-ahead mode.
// It is append-only: [Store.CreateRun] stores a whole plan, [Store.Append] one
// record, each in a transaction that is on disk when the call returns. If a
// process is killed or a machine loses power at any moment, the store opens
// again and holds every appended record once. A cell never gets a second
// record. Only [Store.Remove] deletes anything, and then whole runs.
//
// Scalar metrics are in a table of their own, one row per sample, open to SQL
// queries. The rest of a record, histograms included, is a compressed document.
// Summaries are never stored: package stat computes them.
//
// Any number of goroutines may use a Store, and any number of processes a file:
// they wait for each other. [Lock] keeps two labs from measuring at once.
//
// [Store.Export] writes a run as Go benchmarks, CSV or JSON; [Store.Import]
// reads Go benchmarks as a run.
package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a transaction waits for those of other processes.
const busyTimeout = 10 * time.Second

// A Store is an open store file. Open and OpenReadOnly return one; it must not
// be copied. All methods may be called concurrently until Close.
type Store struct {
	path string
	db   *sql.DB // one connection, so calls take turns
}

// Open opens the store at path for reading and writing, and creates it and its
// parent directories if missing. It refuses a store written by a newer version
// and any other kind of file, and leaves them unchanged.
func Open(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("store: open %s: %w: choose another place with --store FILE or ISOBAR_STORE", path, err)
	}
	if err := checkFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	// synchronous(FULL): a commit is on the disk before it returns.
	s, err := connect(path, "mode=rwc&_txlock=immediate&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.db.Close()
		return nil, s.explain("open", err)
	}
	return s, nil
}

// OpenReadOnly opens an existing store for reading and creates nothing. It can
// read a store in an unwritable place while nobody else writes there.
func OpenReadOnly(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	if err := checkFile(path); errors.Is(err, os.ErrNotExist) {
		return nil, absence(fmt.Sprintf("store: no store at %s: 'isobar lab' measures and creates it; --store FILE or "+
			"ISOBAR_STORE name another", path))
	} else if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	s, err := connect(path, "mode=ro")
	if err != nil {
		return nil, err
	}
	version, err := readVersion(s.db)
	if (isCode(err, sqlite3.SQLITE_CANTOPEN) || isCode(err, sqlite3.SQLITE_READONLY)) && !hasWAL(path) {
		// Readers of a write-ahead log share memory in a file beside it. If that file
		// cannot be created, there is no writer either, and no log to miss.
		s.db.Close()
		if s, err = connect(path, "mode=ro&immutable=1"); err != nil {
			return nil, err
		}
		version, err = readVersion(s.db)
	}
	if err == nil && version == 0 {
		err = errEmpty
	}
	if err != nil {
		s.db.Close()
		return nil, s.explain("open", err)
	}
	return s, nil
}

// Close releases the store.
func (s *Store) Close() error { return s.explain("close", s.db.Close()) }

func connect(path, options string) (*Store, error) {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") { // C:/...
		name = "/" + name
	}
	u := url.URL{Scheme: "file", Path: name}
	dsn := fmt.Sprintf("%s?_busy_timeout=%d&%s", u.String(), busyTimeout.Milliseconds(), options)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return &Store{path: path, db: db}, nil
}

const magic = "SQLite format 3\x00"

// checkFile refuses anything that is clearly not a whole SQLite file, before
// SQLite touches it. A missing file is os.ErrNotExist; an empty one is
// accepted.
func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return err
		}
		return fmt.Errorf("%w: choose another file with --store FILE or ISOBAR_STORE", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file: choose another with --store FILE or ISOBAR_STORE")
	}
	if info.Size() == 0 {
		return nil
	}
	header := make([]byte, 100)
	if n, err := io.ReadFull(f, header); err != nil || string(header[:len(magic)]) != magic {
		if n >= len(magic) && bytes.HasPrefix(header, []byte(magic)) {
			return fmt.Errorf("the store is truncated to %d bytes: restore it from a copy, or move it away to start a "+
				"new one", n)
		}
		return errors.New("not a store (not an SQLite file): choose another with --store FILE or ISOBAR_STORE")
	}
	// Bytes 16-17 hold the page size, 28-31 the number of pages. While a log is
	// pending the file may be shorter than its header says.
	page := int64(header[16])<<8 | int64(header[17])
	if page == 1 {
		page = 65536
	}
	pages := int64(header[28])<<24 | int64(header[29])<<16 | int64(header[30])<<8 | int64(header[31])
	if want := page * pages; info.Size() < want && !hasWAL(path) {
		return fmt.Errorf("the store is truncated: only %d of %d bytes remain: restore it from a copy, or move it away to "+
			"start a new one", info.Size(), want)
	}
	return nil
}

// hasWAL reports whether a write-ahead log lies beside the file.
func hasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// A querier is a transaction, or a database without one.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// eachRow calls each for every row of a query.
func eachRow(from querier, each func(*sql.Rows) error, query string, args ...any) error {
	rows, err := from.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// update runs f in a transaction that writes.
func (s *Store) update(operation string, f func(*sql.Tx) error) error {
	return s.transact(operation, nil, f)
}

// view runs f in a read transaction, which sees one moment.
func (s *Store) view(operation string, f func(*sql.Tx) error) error {
	return s.transact(operation, &sql.TxOptions{ReadOnly: true}, f)
}

func (s *Store) transact(operation string, options *sql.TxOptions, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), options)
	if err != nil {
		return s.explain(operation, err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err = f(tx); err == nil {
		err = tx.Commit()
	}
	return s.explain(operation, err)
}
