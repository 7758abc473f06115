package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Run is one plan and its results so far.
type Run = cell.Run

// CreateRun stores a run with its whole plan and returns its ID. The Index of
// the cells must be 0, 1, 2 and so on.
func (s *Store) CreateRun(r Run, cells []cell.Cell) (id int64, err error) {
	err = s.update("create run", func(tx *sql.Tx) error {
		id, err = createRun(tx, r, cells)
		return err
	})
	return id, err
}

func createRun(tx *sql.Tx, r Run, cells []cell.Cell) (int64, error) {
	args, err := json.Marshal(r.Args)
	if err != nil {
		return 0, err
	}
	machine, err := json.Marshal(r.Machine)
	if err != nil {
		return 0, err
	}
	result, err := tx.Exec("INSERT INTO run (name, created, args, version, machine, seed, cells, imported) VALUES (?, "+
		"?, ?, ?, ?, ?, ?, ?)",
		r.Name, r.Created.UnixNano(), string(args), r.Version, string(machine), strconv.FormatUint(r.Seed, 10), len(cells),
		r.Imported)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return 0, err
	}
	return id, insertCells(tx, id, 0, cells)
}

// insertCells adds cells to the plan of a run, which already has the number have.
func insertCells(tx *sql.Tx, run int64, have int, cells []cell.Cell) error {
	insert, err := tx.Prepare("INSERT INTO cell (run, cell, doc) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for i, c := range cells {
		if c.Index != have+i {
			return fmt.Errorf("cell %d of the plan has index %d: number cells from 0, without a gap", have+i, c.Index)
		}
		doc, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if _, err := insert.Exec(run, c.Index, string(doc)); err != nil {
			return err
		}
	}
	return nil
}

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
		if err := insertCells(tx, run, have, cells); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE run SET cells = ? WHERE id = ?", have+len(cells), run)
		return err
	})
}

// Cells returns the plan of a run.
func (s *Store) Cells(run int64) ([]cell.Cell, error) {
	return s.cells(run, selectCells)
}

// Pending returns a run's cells without a record, in plan order.
func (s *Store) Pending(run int64) ([]cell.Cell, error) {
	return s.cells(run, "SELECT doc FROM cell WHERE run = ? AND cell NOT IN (SELECT cell FROM record WHERE record.run = "+
		"cell.run) ORDER BY cell")
}

func (s *Store) cells(run int64, query string) ([]cell.Cell, error) {
	if _, err := s.Run(run); err != nil {
		return nil, err
	}
	var cells []cell.Cell
	err := eachRow(s.db, func(rows *sql.Rows) error {
		var doc string
		var c cell.Cell
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		err := cell.Decode(strings.NewReader(doc), &c)
		cells = append(cells, c)
		return err
	}, query, run)
	return cells, s.explain("read cells", err)
}

const selectRun = `SELECT id, name, created, args, version, machine, seed, imported, cells,
	(SELECT count(*) FROM record WHERE run = id AND NOT failed),
	(SELECT count(*) FROM record WHERE run = id AND failed),
	EXISTS (SELECT 1 FROM profile WHERE run = id AND cell = 0 AND kind = '` + answerKind + `')
	FROM run `

// Runs returns all runs, oldest first, without reading records.
func (s *Store) Runs() ([]Run, error) {
	runs, err := scanRuns(s.db, selectRun+"ORDER BY id")
	return runs, s.explain("list runs", err)
}

// Run returns one run.
func (s *Store) Run(id int64) (Run, error) {
	r, err := s.run("WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, s.noRun(id)
	}
	return r, err
}

// Last returns the newest run.
func (s *Store) Last() (Run, error) {
	r, err := s.run("ORDER BY id DESC LIMIT 1")
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, s.explain("read run", errEmpty)
	}
	return r, err
}

func (s *Store) run(which string, args ...any) (Run, error) {
	r, err := scanRun(s.db.QueryRow(selectRun+which, args...))
	return r, s.explain("read run", err)
}

// Remove deletes a run with everything that belongs to it and returns the space
// to the file system.
func (s *Store) Remove(run int64) error {
	if _, err := s.Run(run); err != nil {
		return err
	}
	if err := s.update("remove run", func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM run WHERE id = ?", run)
		return err
	}); err != nil {
		return err
	}
	if _, err := s.db.Exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)"); err != nil &&
		!isCode(err, sqlite3.SQLITE_BUSY) {
		return s.explain("remove run", err)
	}
	return nil
}

func (s *Store) noRun(id int64) error {
	return absence(fmt.Sprintf("store: %s: no run %d: 'isobar lab list' shows the runs", s.path, id))
}

func scanRuns(from querier, query string, args ...any) (runs []Run, err error) {
	err = eachRow(from, func(rows *sql.Rows) error {
		r, err := scanRun(rows)
		runs = append(runs, r)
		return err
	}, query, args...)
	return runs, err
}

func scanRun(row interface{ Scan(...any) error }) (Run, error) {
	var r Run
	var created int64
	var args, machine, seed string
	err := row.Scan(&r.ID, &r.Name, &created, &args, &r.Version, &machine, &seed, &r.Imported, &r.Total, &r.Finished,
		&r.Failed, &r.Answered)
	if err != nil {
		return Run{}, err
	}
	r.Created = time.Unix(0, created)
	if err := json.Unmarshal([]byte(args), &r.Args); err != nil {
		return Run{}, fmt.Errorf("run %d: args: %w", r.ID, err)
	}
	if err := json.Unmarshal([]byte(machine), &r.Machine); err != nil {
		return Run{}, fmt.Errorf("run %d: machine: %w", r.ID, err)
	}
	if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return Run{}, fmt.Errorf("run %d: seed: %w", r.ID, err)
	}
	return r, nil
}
