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

// load reads and analyzes a run given by number or as "last".
func (s *Server) load(name string) (session.Run, *stat.Analysis, error) {
	from, run, err := s.find(name)
	if err != nil {
		return session.Run{}, nil, err
	}
	return session.Load(from, run.ID)
}
