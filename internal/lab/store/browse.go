package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Slice selects the runs that Browse returns: at most Limit, newest first.
type Slice struct {
	// Before and After bound the run numbers; 0 means no bound. With After and no
	// Before, the runs next to After come, still newest first.
	Before, After int64
	Limit         int
	// Filter is a text that the name or the command line must contain, ignoring
	// case; "" for all.
	Filter string
}

// The queries behind the pages. All look up rows by key (TestQueryPlans).
const (
	browse            = "WHERE id < ?1 AND id > ?2 AND (?3 = '' OR instr(lower(name || ' ' || args), lower(?3))) "
	selectCells       = "SELECT doc FROM cell WHERE run = ? ORDER BY cell"
	selectDocuments   = "SELECT cell, doc, data FROM cell LEFT JOIN document USING (run, cell) WHERE run = ? ORDER BY cell"
	selectSamples     = "SELECT cell, metric, value FROM sample WHERE run = ? ORDER BY cell"
	selectCell        = "SELECT doc, data FROM cell LEFT JOIN document USING (run, cell) WHERE run = ? AND cell = ?"
	selectCellSamples = "SELECT cell, metric, value FROM sample WHERE run = ? AND cell = ?"
)

// Browse returns a slice of the runs and whether older and newer runs match the
// filter beyond it. It reads no records, and from the record table only rows of
// the returned runs.
func (s *Store) Browse(slice Slice) (runs []Run, older, newer bool, err error) {
	order, backwards := "DESC", slice.After > 0 && slice.Before == 0
	if backwards {
		order = "ASC"
	}
	err = s.view("list runs", func(tx *sql.Tx) error {
		var err error
		runs, err = scanRuns(tx, selectRun+browse+"ORDER BY id "+order+" LIMIT ?4", cmp.Or(slice.Before, math.MaxInt64),
			slice.After, slice.Filter, max(slice.Limit, 1))
		if err != nil || len(runs) == 0 {
			return err
		}
		if backwards {
			slices.Reverse(runs)
		}
		const exists = "SELECT EXISTS (SELECT 1 FROM run WHERE id %s ?1 AND (?2 = '' OR instr(lower(name || ' ' || args), " +
			"lower(?2))))"
		if err := tx.QueryRow(fmt.Sprintf(exists, "<"), runs[len(runs)-1].ID, slice.Filter).Scan(&older); err != nil {
			return err
		}
		return tx.QueryRow(fmt.Sprintf(exists, ">"), runs[0].ID, slice.Filter).Scan(&newer)
	})
	return runs, older, newer, err
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
