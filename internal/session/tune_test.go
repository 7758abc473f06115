package session

import (
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestWarmUpIsThatOfTheFirstRun: later runs of a server compare equal work only if all are warmed up alike.
func TestWarmUpIsThatOfTheFirstRun(t *testing.T) {
	l := &TuneLog{}
	if c := l.cell(cell.Config{Workload: "serve"}, 0); c.WarmUp != 0 {
		t.Errorf("the first run is given a warm-up of %v, but must decide it", c.WarmUp)
	}
	failed := &cell.Record{Err: &cell.Failure{Kind: cell.FailExit}}
	failed.Set(cell.WarmUp, 9)
	l.took(failed)
	for _, seconds := range []float64{0.75, 4.25} {
		rec := &cell.Record{}
		rec.Set(cell.WarmUp, seconds)
		l.took(rec)
		if c := l.cell(cell.Config{Workload: "serve"}, 1); c.WarmUp != 750*time.Millisecond {
			t.Errorf("after a run that took %v s: %v, want that of the first run", seconds, c.WarmUp)
		}
	}
}
