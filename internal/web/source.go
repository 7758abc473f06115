package web

import (
	"os"
	"sync"

	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
)

// A source opens the store on first use, and again after another file has replaced it.
type source struct {
	path string

	mu   sync.Mutex
	open *store.Store // guarded by mu
	info os.FileInfo  // of the open file; guarded by mu
}

func (o *source) get() (*store.Store, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := os.Stat(o.path)
	if o.open != nil {
		if err == nil && os.SameFile(info, o.info) {
			return o.open, nil
		}
		o.open.Close()
		o.open = nil
	}
	s, err := store.OpenReadOnly(o.path)
	if err != nil {
		return nil, err
	}
	o.open, o.info = s, info
	return s, nil
}

func (o *source) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		return nil
	}
	err := o.open.Close()
	o.open = nil
	return err
}

// A loaded run is cached until the store has something newer on it.
type loaded struct {
	from     *store.Store
	records  int
	answer   int // length of a tuned run's answer, which is stored last
	run      session.Run
	analysis *stat.Analysis
}

// keepLoaded is the number of cached runs.
const keepLoaded = 4

// load reads a run given by number or as "last", with a cache of recent ones. Callers share
// the result and must not change it.
func (s *Server) load(name string) (session.Run, *stat.Analysis, error) {
	from, now, err := s.find(name)
	if err != nil {
		return session.Run{}, nil, err
	}
	id := now.ID
	answer, err := from.Answer(id)
	if err != nil {
		return session.Run{}, nil, err
	}
	s.mu.Lock()
	for _, l := range s.loaded {
		if l.from == from && l.run.Meta.ID == id && l.records == now.Finished+now.Failed &&
			l.run.Meta.Total == now.Total && l.answer == len(answer) {
			s.mu.Unlock()
			return l.run, l.analysis, nil
		}
	}
	s.mu.Unlock()
	run, analysis, err := session.Load(from, id)
	if err != nil {
		return session.Run{}, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := []loaded{{from, len(run.Failed), len(answer), run, analysis}}
	for _, l := range s.loaded {
		if l.from == from && l.run.Meta.ID != id && len(kept) < keepLoaded {
			kept = append(kept, l)
		}
	}
	s.loaded = kept
	return run, analysis, nil
}
