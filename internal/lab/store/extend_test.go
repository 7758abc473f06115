package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestExtend(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, err := s.CreateRun(Run{Name: "grows", Created: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := s.Extend(id, cell.Cell{Index: i}); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			continue // remains pending
		}
		if err := s.Append(id, &cell.Record{Cell: cell.Cell{Index: i}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, index := range []int{2, 5} {
		if err := s.Extend(id, cell.Cell{Index: index}); err == nil {
			t.Errorf("a fourth cell with index %d: no error", index)
		}
	}
	if err := s.Extend(id+1, cell.Cell{}); err == nil {
		t.Error("a run that does not exist: no error")
	}
	run, err := s.Run(id)
	if err != nil || run.Total != 3 || run.Finished != 2 {
		t.Errorf("%d of %d cells finished, %v; want 2 of 3", run.Finished, run.Total, err)
	}
	if pending, err := s.Pending(id); err != nil || len(pending) != 1 || pending[0].Index != 1 {
		t.Errorf("pending %+v, %v; want cell 1", pending, err)
	}
}
