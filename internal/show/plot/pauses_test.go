package plot

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestPauses draws the runtime's buckets, one with more pauses than could be recorded one by one.
func TestPauses(t *testing.T) {
	row := &text.Row{Label: "gc=default", Group: &stat.Group{Buckets: map[string]cell.Buckets{cell.HistPause: {
		Lower: []float64{1e-6, 1e-3, -1}, Upper: []float64{2e-6, 2e-3, -1}, Count: []uint64{1_000_000_000_000, 3, 7}}}}}
	s := &text.Section{Name: "w", Rows: []*text.Row{row}}
	p := Pauses(s, "study-1")
	if p == nil || len(p.Panels) != 1 || len(p.Table.Rows) != 1 {
		t.Fatalf("%+v", p)
	}
	for column, want := range map[int]string{0: "gc=default", 1: "pause", 2: "2.00 µs", 7: "2.00 ms", 9: "1.00 T"} {
		if got := p.Table.Rows[0][column].Text; got != want {
			t.Errorf("%s: %q, want %q", p.Table.Head[column], got, want)
		}
	}
	if !strings.Contains(p.Caption, "at 99.9, one in a thousand") {
		t.Errorf("caption of many pauses: %s", p.Caption)
	}
	row.Buckets[cell.HistPause] = cell.Buckets{Lower: []float64{1e-6}, Upper: []float64{2e-6}, Count: []uint64{20}}
	if p := Pauses(s, "study-1"); !strings.Contains(p.Caption, "at 99, one in a hundred") {
		t.Errorf("caption of 20 pauses, whose axis ends at 99: %s", p.Caption)
	}
	row.Buckets = nil
	if p := Pauses(s, "study-1"); p != nil {
		t.Errorf("pauses without any: %+v", p)
	}
}
