package store

import (
	"database/sql"
	"errors"
)

// answerKind is the kind under which a run's answer is stored beside the profiles of
// its first cell.
const answerKind = "answer"

// KeepAnswer stores the conclusion of a run as JSON; reports begin with it. The first
// cell must have a record.
func (s *Store) KeepAnswer(run int64, answer []byte) error {
	return s.update("keep answer", func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO profile (run, cell, kind, data) VALUES (?, 0, ?, ?)", run, answerKind,
			answer)
		return err
	})
}

// Answer returns what KeepAnswer stored, or nil.
func (s *Store) Answer(run int64) ([]byte, error) {
	var data []byte
	err := s.db.QueryRow("SELECT data FROM profile WHERE run = ? AND cell = 0 AND kind = ?", run, answerKind).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, s.explain("read answer", err)
}
