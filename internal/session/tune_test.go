package session

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune"
)

// TestFirstRunTellsOfServers: while the first run of a command lasts, the status says what a server needs.
func TestFirstRunTellsOfServers(t *testing.T) {
	for _, tc := range []struct {
		done   int
		served bool
		want   bool
	}{{0, false, true}, {1, false, false}, {0, true, false}} {
		l := &TuneLog{served: tc.served, status: NewStatus(io.Discard)}
		l.begin(tune.Step{Done: tc.done, Doing: "the baseline"})
		if got := strings.Contains(l.status.text, "give --url or --load"); got != tc.want {
			t.Errorf("%+v: %q", tc, l.status.text)
		}
		l.status.End()
	}
}

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
