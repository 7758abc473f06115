package store

import (
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks the file as ours ("Isob"), see file(1).
const applicationID = 0x49736f62

// migrations[i] brings a store from version i to version i+1.
var migrations = []string{schema1, schema2}

const schema1 = `
CREATE TABLE run (
	id       INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice
	name     TEXT NOT NULL,
	created  INTEGER NOT NULL, -- Unix time in nanoseconds
	args     TEXT NOT NULL,    -- JSON list
	version  TEXT NOT NULL,
	machine  TEXT NOT NULL,    -- JSON, see cell.Machine
	seed     TEXT NOT NULL,    -- unsigned decimal
	cells    INTEGER NOT NULL, -- in the plan
	imported INTEGER NOT NULL
) STRICT;

-- The plan. doc is a cell.Cell as JSON.
CREATE TABLE cell (
	run  INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
	cell INTEGER NOT NULL,
	doc  TEXT NOT NULL,
	PRIMARY KEY (run, cell)
) STRICT, WITHOUT ROWID;

-- One row for each cell that has a record; small, for counting.
CREATE TABLE record (
	run    INTEGER NOT NULL,
	cell   INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	PRIMARY KEY (run, cell),
	FOREIGN KEY (run, cell) REFERENCES cell ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The scalar metrics of the records.
CREATE TABLE sample (
	run    INTEGER NOT NULL,
	cell   INTEGER NOT NULL,
	metric TEXT NOT NULL,
	value  REAL NOT NULL,
	PRIMARY KEY (run, cell, metric),
	FOREIGN KEY (run, cell) REFERENCES record ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The rest of the records: cell.Record as JSON without cell and metrics,
-- compressed (zlib).
CREATE TABLE document (
	run  INTEGER NOT NULL,
	cell INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (run, cell),
	FOREIGN KEY (run, cell) REFERENCES record ON DELETE CASCADE
) STRICT;

CREATE TABLE profile (
	run  INTEGER NOT NULL,
	cell INTEGER NOT NULL,
	kind TEXT NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (run, cell, kind),
	FOREIGN KEY (run, cell) REFERENCES record ON DELETE CASCADE
) STRICT;
`

// prepare brings a new or older file to the current version. If several processes do so at once,
// one does the work and the others wait.
func (s *Store) prepare() error {
	// Read the version first, so that a foreign file is not changed. In an empty file,
	// auto_vacuum must come before the first table and before the change to write-ahead mode,
	// which does not wait for other processes.
	version, err := readVersion(s.db)
	if err != nil || version == len(migrations) {
		return err
	}
	for _, pragma := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"} {
		if err := s.retry(pragma); err != nil {
			return err
		}
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if version, err = readVersion(tx); err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		if _, err := tx.Exec(migrations[version]); err != nil {
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		version)); err != nil {
		return err
	}
	return tx.Commit()
}

// retry executes a statement until no other process blocks it.
func (s *Store) retry(statement string) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := s.db.Exec(statement)
		if !isCode(err, sqlite3.SQLITE_BUSY) || time.Since(began) > busyTimeout {
			return err
		}
	}
}

// readVersion returns the version of the store, 0 for an empty file.
func readVersion(from querier) (int, error) {
	var id, version, tables int
	err := from.QueryRow("SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM "+
		"pragma_application_id, pragma_user_version").Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id == 0 && tables == 0 && version == 0:
		return 0, nil
	case id != applicationID || version < 1:
		return 0, errForeign
	case version > len(migrations):
		return 0, fmt.Errorf("version %d, this isobar knows up to %d: %w", version, len(migrations), errNewer)
	}
	return version, nil
}
