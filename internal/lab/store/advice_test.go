package store

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Advice(); !errors.Is(err, ErrNotFound) {
		t.Errorf("of an empty store: %v", err)
	}
	for i := range keepAdvice + 5 {
		id, err := s.SaveAdvice(Advice{Created: time.Unix(int64(1700000000+i), 7), Name: fmt.Sprint("m", i), Page: bytes.Repeat([]byte("<p>page</p>"), i)})
		if err != nil || id != int64(i+1) {
			t.Fatalf("page %d: number %d, %v", i, id, err)
		}
	}
	last := keepAdvice + 4
	a, err := s.Advice()
	if err != nil || a.Name != fmt.Sprint("m", last) || len(a.Page) != 11*last || !a.Created.Equal(time.Unix(int64(1700000000+last), 7)) {
		t.Errorf("%q of %v, %d bytes: %v", a.Name, a.Created, len(a.Page), err)
	}
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM advice").Scan(&n); err != nil || n != keepAdvice {
		t.Errorf("%d pages are kept, want %d: %v", n, keepAdvice, err)
	}
}

// TestFirstVersion opens a store of the version before advice.
func TestFirstVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	all := migrations
	migrations = all[:1]
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	plan := []cell.Cell{{Config: cell.Config{Workload: "w", GC: cell.DefaultGC}}}
	id, err := s.CreateRun(Run{Name: "old", Created: time.Unix(1, 0)}, plan)
	if err == nil {
		err = s.Append(id, &cell.Record{Cell: plan[0], Metrics: map[string]float64{"m": 1}}, nil)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	migrations = all
	reader, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Advice(); !errors.Is(err, ErrNotFound) {
		t.Errorf("read only: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SaveAdvice(Advice{Created: time.Unix(2, 0), Name: "m", Page: []byte("p")}); err != nil {
		t.Error(err)
	}
	records, err := s.Records(id)
	if err != nil || len(records) != 1 || records[0].Metrics["m"] != 1 {
		t.Errorf("the run after the migration: %v, %v", records, err)
	}
	if a, err := s.Advice(); err != nil || string(a.Page) != "p" {
		t.Errorf("%q, %v", a.Page, err)
	}
}
