package store

import (
	"path/filepath"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestAnswer(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.db"))
	c := cell.Cell{Config: cell.Config{Workload: "exec", GC: cell.DefaultGC}}
	id, err := s.CreateRun(Run{Name: "a"}, []cell.Cell{c})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KeepAnswer(id, []byte(`{}`)); err == nil {
		t.Error("an answer without a record: no error")
	}
	if err := s.Append(id, &cell.Record{Cell: c}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Answer(id); got != nil || err != nil {
		t.Errorf("no answer: %q, %v", got, err)
	}
	for _, want := range []string{`{"headline": "set GOGC=400"}`, `{"headline": "leave GOGC=100"}`} {
		if err := s.KeepAnswer(id, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Answer(id); string(got) != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
