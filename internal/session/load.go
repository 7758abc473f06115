package session

import (
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
)

// A Run is the content of a run's page, with its cells.
type Run struct {
	page.Run
	Plan   []cell.Cell
	Failed map[int]bool // by index of the cells with a record
}

// LoadRun is Load for a run given by number or as "last".
func (se *Session) LoadRun(id string) (Run, *stat.Analysis, error) {
	s, run, err := se.OpenRun(id)
	if err != nil {
		return Run{}, nil, err
	}
	defer s.Close()
	return Load(s, run.ID)
}

// Load reads a run from the store and analyzes it for the reports.
func Load(s *store.Store, id int64) (Run, *stat.Analysis, error) {
	run, plan, records, err := s.Whole(id)
	if err != nil {
		return Run{}, nil, err
	}
	analysis, err := stat.AnalyzeOn(run.Machine, plan, records)
	if err != nil {
		return Run{}, nil, err
	}
	r := Run{Run: page.Run{Meta: run}, Plan: plan, Failed: make(map[int]bool, len(records))}
	if run.Unanswered() {
		analysis.Findings = []string{"tune came to no answer. If it was interrupted, the same command with " +
			"--resume continues."}
	} else if answer, err := s.Answer(id); err != nil {
		return Run{}, nil, err
	} else if len(answer) > 0 {
		if analysis.Findings, err = showAnswer(&r.Run, run, answer); err != nil {
			return Run{}, nil, err
		}
	}
	for _, rec := range records {
		r.Failed[rec.Cell.Index] = rec.Err != nil
	}
	return r, analysis, nil
}
