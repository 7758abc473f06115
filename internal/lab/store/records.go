package store

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Append stores the record of one cell of a run with its profiles, by kind. If it
// returns nil, everything is on disk, otherwise nothing is. rec.Cell.Index must refer
// to a cell in the plan that has no record yet.
func (s *Store) Append(run int64, rec *cell.Record, profiles map[string][]byte) error {
	return s.update("append", func(tx *sql.Tx) error {
		a, err := newAppender(tx, run)
		if err != nil {
			return err
		}
		return a.append(rec, profiles)
	})
}

// An Entry is one record with its profiles, by kind.
type Entry struct {
	Record   cell.Record
	Profiles map[string][]byte
}

// AppendBlocks stores the records of whole blocks in one transaction and
// returns how many blocks it stored. It skips blocks whose cells all have
// records, so storing a block again does nothing. A block with records for only
// some cells is an error: it would mix two runs of the block.
func (s *Store) AppendBlocks(run int64, blocks ...[]Entry) (stored int, err error) {
	err = s.update("append", func(tx *sql.Tx) error {
		stored = 0
		a, err := newAppender(tx, run)
		if err != nil {
			return err
		}
		for _, entries := range blocks {
			have := 0
			for i := range entries {
				has, err := a.has(entries[i].Record.Cell.Index)
				if err != nil {
					return err
				}
				if has {
					have++
				}
			}
			if have == len(entries) {
				continue
			}
			if have > 0 {
				return fmt.Errorf("%d of the %d cells of block %d of run %d already have records: a block is measured as a whole",
					have, len(entries), entries[0].Record.Cell.Block, run)
			}
			for i := range entries {
				if err := a.append(&entries[i].Record, entries[i].Profiles); err != nil {
					return err
				}
			}
			stored++
		}
		return nil
	})
	return stored, err
}

// An appender stores records of a run in one transaction. It compiles each
// statement once, because compiling takes longer than executing. The end of the
// transaction closes them.
type appender struct {
	tx                                *sql.Tx
	run                               int64
	exists, record, sample, documents *sql.Stmt
}

func newAppender(tx *sql.Tx, run int64) (*appender, error) {
	a := &appender{tx: tx, run: run}
	for _, s := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&a.exists, "SELECT EXISTS (SELECT 1 FROM record WHERE run = ? AND cell = ?)"},
		{&a.record, "INSERT INTO record (run, cell, failed) SELECT run, cell, ? FROM cell WHERE run = ? AND cell = ? ON " +
			"CONFLICT DO NOTHING"},
		{&a.sample, "INSERT INTO sample (run, cell, metric, value) VALUES (?, ?, ?, ?)"},
		{&a.documents, "INSERT INTO document (run, cell, data) VALUES (?, ?, ?)"},
	} {
		var err error
		if *s.statement, err = tx.Prepare(s.text); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// has reports whether a cell has a record.
func (a *appender) has(index int) (has bool, err error) {
	err = a.exists.QueryRow(a.run, index).Scan(&has)
	return has, err
}

func (a *appender) append(rec *cell.Record, profiles map[string][]byte) error {
	index := rec.Cell.Index
	result, err := a.record.Exec(rec.Err != nil, a.run, index)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return a.refused(index)
	}
	for metric, value := range rec.Metrics {
		if err := CheckMetric(metric, value); err != nil {
			return fmt.Errorf("cell %d: %w", index, err)
		}
		if _, err := a.sample.Exec(a.run, index, metric, value); err != nil {
			return err
		}
	}
	data, err := encodeDocument(rec, profiles)
	if err != nil {
		return err
	}
	if _, err := a.documents.Exec(a.run, index, data); err != nil {
		return err
	}
	for kind, data := range profiles {
		if _, err := a.tx.Exec("INSERT INTO profile (run, cell, kind, data) VALUES (?, ?, ?, ?)", a.run, index, kind,
			data); err != nil {
			return err
		}
	}
	return nil
}

// CheckMetric returns an error if the store cannot hold a metric.
func CheckMetric(name string, value float64) error {
	if name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
		return fmt.Errorf("metric %q: want a name without spaces", name)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("metric %s is %v: omit metrics that were not measured", name, value)
	}
	return nil
}

// refused explains why a record was not stored.
func (a *appender) refused(index int) error {
	has, err := a.has(index)
	switch {
	case err != nil:
		return err
	case has:
		return fmt.Errorf("cell %d of run %d already has a record: start a new run to measure again", index,
			a.run)
	}
	return fmt.Errorf("run %d has no cell %d: create the run with its plan first", a.run, index)
}

// Records returns the records of a run by cell. Each holds the planned cell
// and, in Profiles, the kinds available from Profile.
func (s *Store) Records(run int64) ([]*cell.Record, error) {
	_, _, records, err := s.Whole(run)
	return records, err
}

// Whole returns the results of Run, Cells and Records as of one moment.
func (s *Store) Whole(run int64) (r Run, cells []cell.Cell, records []*cell.Record, err error) {
	err = s.view("read run", func(tx *sql.Tx) error {
		r, err = scanRun(tx.QueryRow(selectRun+"WHERE id = ?", run))
		if err != nil {
			return err
		}
		rows, err := readRows(tx, run)
		if err != nil {
			return err
		}
		decoded := make(chan error, 1)
		go func() {
			var err error
			cells, records, err = decodeAll(run, rows)
			decoded <- err
		}()
		samples, err := readSamples(tx, selectSamples, run)
		if err := errors.Join(<-decoded, err); err != nil {
			return err
		}
		return joinSamples(run, records, samples)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = s.noRun(run)
	}
	return r, cells, records, err
}

// readRows reads the plan of a run with the documents of its records.
func readRows(tx *sql.Tx, run int64) (all []rawRow, err error) {
	err = eachRow(tx, func(rows *sql.Rows) error {
		var r rawRow
		err := rows.Scan(&r.index, &r.doc, &r.data)
		all = append(all, r)
		return err
	}, selectDocuments, run)
	return all, err
}

// readSamples reads the metrics of records, by cell.
func readSamples(tx *sql.Tx, query string, args ...any) (map[int]map[string]float64, error) {
	all, names := make(map[int]map[string]float64), make(map[string]string) // one string per name, not one per sample
	err := eachRow(tx, func(rows *sql.Rows) error {
		var index int
		var metric sql.RawBytes
		var value float64
		if err := rows.Scan(&index, &metric, &value); err != nil {
			return err
		}
		name, ok := names[string(metric)]
		if !ok {
			name = string(metric)
			names[name] = name
		}
		if all[index] == nil {
			all[index] = make(map[string]float64, len(names)) // cells of a run have similar metrics
		}
		all[index][name] = value
		return nil
	}, query, args...)
	return all, err
}

// joinSamples moves the metrics to the records.
func joinSamples(run int64, records []*cell.Record, samples map[int]map[string]float64) error {
	for _, rec := range records {
		rec.Metrics = samples[rec.Cell.Index]
		delete(samples, rec.Cell.Index)
	}
	for index := range samples {
		return fmt.Errorf("cell %d has samples but no document: the store is damaged: restore it from a copy, or remove "+
			"run %d", index, run)
	}
	return nil
}

// Profile returns a cell's profile as passed to Append.
func (s *Store) Profile(run int64, index int, kind string) ([]byte, error) {
	var data []byte
	err := s.db.QueryRow("SELECT data FROM profile WHERE run = ? AND cell = ? AND kind = ?", run, index, kind).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("store: %s: cell %d of run %d kept no %s profile: measure with --profile %s", s.path, index,
			run, kind, kind)
	}
	return data, s.explain("read profile", err)
}
