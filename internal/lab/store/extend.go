package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Extend adds cells to the plan of a run whose course depends on its results.
// Their indexes must continue those of the plan.
func (s *Store) Extend(run int64, cells ...cell.Cell) error {
	if _, err := s.Run(run); err != nil {
		return err
	}
	return s.update("extend run", func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRow("SELECT cells FROM run WHERE id = ?", run).Scan(&have); err != nil {
			return err
		}
		for i, c := range cells {
			if c.Index != have+i {
				return fmt.Errorf("cell %d has index %d: continue the numbering of the plan", have+i, c.Index)
			}
			doc, err := json.Marshal(c)
			if err != nil {
				return err
			}
			if _, err := tx.Exec("INSERT INTO cell (run, cell, doc) VALUES (?, ?, ?)", run, c.Index, string(doc)); err != nil {
				return err
			}
		}
		_, err := tx.Exec("UPDATE run SET cells = ? WHERE id = ?", have+len(cells), run)
		return err
	})
}
