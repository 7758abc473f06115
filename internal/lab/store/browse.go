package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// The queries behind the pages. All look up rows by key (TestQueryPlans).
const (
	browse            = "WHERE id < ? AND instr(lower(name || ' ' || args), lower(?)) ORDER BY id DESC LIMIT ?"
	selectCells       = "SELECT doc FROM cell WHERE run = ? ORDER BY cell"
	selectDocuments   = "SELECT cell, doc, data FROM cell LEFT JOIN document USING (run, cell) WHERE run = ? ORDER BY cell"
	selectSamples     = "SELECT cell, metric, value FROM sample WHERE run = ? ORDER BY cell"
	selectCell        = "SELECT doc, data FROM cell LEFT JOIN document USING (run, cell) WHERE run = ? AND cell = ?"
	selectCellSamples = "SELECT cell, metric, value FROM sample WHERE run = ? AND cell = ?"
)

// Browse returns at most limit runs, newest first, and whether there are older ones: runs with numbers
// below before (0 for any) whose name or command line contains the filter, ignoring case. It reads no
// records, and from the record table only rows of the returned runs and of one more.
func (s *Store) Browse(before int64, filter string, limit int) (runs []Run, older bool, err error) {
	runs, err = scanRuns(s.db, selectRun+browse, cmp.Or(before, math.MaxInt64), filter, limit+1)
	if older = len(runs) > limit; older {
		runs = runs[:limit]
	}
	return runs, older, s.explain("list runs", err)
}

// Count returns the number of runs.
func (s *Store) Count() (n int, err error) {
	err = s.db.QueryRow("SELECT count(*) FROM run").Scan(&n)
	return n, s.explain("count runs", err)
}

// Cell returns the plan of one cell of a run and its record, nil if it has none
// yet.
func (s *Store) Cell(run int64, index int) (c cell.Cell, rec *cell.Record, err error) {
	if _, err := s.Run(run); err != nil {
		return cell.Cell{}, nil, err
	}
	err = s.view("read cell", func(tx *sql.Tx) error {
		row := rawRow{index: index}
		err := tx.QueryRow(selectCell, run, index).Scan(&row.doc, &row.data)
		if err != nil {
			return err
		}
		if c, rec, err = row.decode(run); err != nil || rec == nil {
			return err
		}
		samples, err := readSamples(tx, selectCellSamples, run, index)
		if err != nil {
			return err
		}
		return joinSamples(run, []*cell.Record{rec}, samples)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return cell.Cell{}, nil, absence(fmt.Sprintf("store: %s: run %d has no cell %d: its page lists the cells", s.path,
			run, index))
	}
	return c, rec, err
}
