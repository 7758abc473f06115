package store

import (
	"path/filepath"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestAppendBlocks(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cells := make([]cell.Cell, 6)
	for i := range cells {
		cells[i] = cell.Cell{Index: i, Block: i / 2}
	}
	run, err := s.CreateRun(Run{Name: "blocks"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	block := func(n int, worker string) []Entry {
		var entries []Entry
		for _, c := range cells[2*n : 2*n+2] {
			entries = append(entries, Entry{Record: cell.Record{Cell: c, Origin: &cell.Origin{Worker: worker}}})
		}
		return entries
	}
	for _, step := range []struct {
		blocks [][]Entry
		stored int
	}{
		{[][]Entry{block(0, "a"), block(1, "b")}, 2},
		{[][]Entry{block(0, "c")}, 0},                // a second attempt
		{[][]Entry{block(1, "c"), block(2, "c")}, 1}, // beside a new block
		{nil, 0},
	} {
		if n, err := s.AppendBlocks(run, step.blocks...); err != nil || n != step.stored {
			t.Fatalf("AppendBlocks = %d, %v, want %d", n, err, step.stored)
		}
	}
	records, err := s.Records(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(cells) {
		t.Fatalf("%d records, want %d", len(records), len(cells))
	}
	for i, rec := range records {
		if want := []string{"a", "b", "c"}[i/2]; rec.Origin == nil || rec.Origin.Worker != want {
			t.Errorf("record %d is of %+v, want of worker %s", i, rec.Origin, want)
		}
	}
}

func TestAppendBlocksRefusesHalfABlock(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cells := []cell.Cell{{Index: 0}, {Index: 1}, {Index: 2, Block: 1}}
	run, err := s.CreateRun(Run{}, cells)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(run, &cell.Record{Cell: cells[0]}, nil); err != nil {
		t.Fatal(err)
	}
	whole := []Entry{{Record: cell.Record{Cell: cells[2]}}}
	half := []Entry{{Record: cell.Record{Cell: cells[0]}}, {Record: cell.Record{Cell: cells[1]}}}
	if n, err := s.AppendBlocks(run, whole, half); err == nil {
		t.Fatalf("stored %d blocks, of which one had a record already", n)
	}
	if records, err := s.Records(run); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v: want nothing of a transaction that failed", len(records), err)
	}
}
