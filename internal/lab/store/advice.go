package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"
)

// An Advice is a page about a module, saved in the store.
type Advice struct {
	ID      int64
	Created time.Time
	Name    string // of the module or directory
	Page    []byte // self-contained HTML
}

// keepAdvice is how many pages of advice a store keeps: the newest ones.
const keepAdvice = 20

const schema2 = `
-- Pages of advice, compressed (zlib). The newest are kept.
CREATE TABLE advice (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	created INTEGER NOT NULL, -- Unix time in nanoseconds
	name    TEXT NOT NULL,
	page    BLOB NOT NULL
) STRICT;
`

// SaveAdvice stores a page of advice and returns its number. It keeps the
// newest 20 and deletes older ones.
func (s *Store) SaveAdvice(a Advice) (id int64, err error) {
	err = s.update("save advice", func(tx *sql.Tx) error {
		page, err := deflate(func(w io.Writer) error {
			_, err := w.Write(a.Page)
			return err
		})
		if err != nil {
			return err
		}
		result, err := tx.Exec("INSERT INTO advice (created, name, page) VALUES (?, ?, ?)", a.Created.UnixNano(), a.Name,
			page)
		if err != nil {
			return err
		}
		if id, err = result.LastInsertId(); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM advice WHERE id <= ?", id-keepAdvice)
		return err
	})
	return id, err
}

// Advice returns the newest page of advice, or an error that wraps ErrNotFound
// if there is none.
func (s *Store) Advice() (Advice, error) {
	none := absence(fmt.Sprintf("store: %s: no advice: save some with 'isobar advise --save'", s.path))
	version, err := readVersion(s.db)
	if err != nil {
		return Advice{}, s.explain("read advice", err)
	}
	if version < 2 {
		return Advice{}, none
	}
	var a Advice
	var created int64
	var data []byte
	err = s.db.QueryRow("SELECT id, created, name, page FROM advice ORDER BY id DESC LIMIT 1").Scan(&a.ID, &created,
		&a.Name, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return Advice{}, none
	}
	if err == nil {
		a.Created = time.Unix(0, created)
		a.Page, err = inflate(data)
	}
	return a, s.explain("read advice", err)
}
