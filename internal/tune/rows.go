package tune

import (
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Row holds the predictions of all candidates at one value of GOMAXPROCS: a row of the map of
// GC settings and GOMAXPROCS.
type Row struct {
	Procs    int          `json:"gomaxprocs,omitempty"` // 0 leaves it to the runtime
	Ran      int          `json:"ran"`                  // GOMAXPROCS that the program's gctrace lines show
	Settings []Prediction `json:"settings"`
}

// expectRow adds the predictions of all candidates by a model of runs at one GOMAXPROCS.
func (t *tuning) expectRow(procs int, m *Model) {
	row := Row{Procs: procs}
	for _, p := range m.pilots {
		row.Ran = max(row.Ran, p.Procs)
	}
	settings := t.Settings
	if len(settings) == 0 {
		for _, percent := range []int{25, 50, 100, 200, 400, 800, 1600, 3200} {
			settings = append(settings, setting(percent, 0))
		}
	}
	for _, gc := range settings {
		row.Settings = append(row.Settings, m.Expect(gc))
	}
	t.answer.Rows = append(t.answer.Rows, row)
}

// expectProcs adds a row for runs with their own GOMAXPROCS. There is none if no run collected:
// such runs say nothing about other settings.
func (t *tuning) expectProcs(procs int, records []*cell.Record) {
	var pilots []Pilot
	for _, rec := range records {
		if p, err := NewPilot(rec); err == nil {
			pilots = append(pilots, p)
		}
	}
	if m, err := NewModel(pilots); err == nil {
		t.expectRow(procs, m)
	}
}
