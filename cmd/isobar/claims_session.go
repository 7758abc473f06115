package main

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/claim"
	"github.com/isobar-go/isobar/internal/host"
	"github.com/isobar-go/isobar/internal/runner"
	"github.com/isobar-go/isobar/internal/store"
)

// A claimSession is one call of 'claims run', or several when it was resumed:
// the runs of one size that have the same seed.
type claimSession struct {
	size   claim.Size
	seed   uint64
	have   map[string]int64 // runs of the session by name
	runner *runner.Runner
	failed int // cells that failed or were left out
}

// newClaimSession begins a session, or with resume goes on with the latest one
// of the size.
func newClaimSession(s *store.Store, size claim.Size, resume bool) (*claimSession, error) {
	session := &claimSession{size: size, have: map[string]int64{}}
	var b [8]byte
	rand.Read(b[:])
	session.seed = binary.LittleEndian.Uint64(b[:])>>12 + 1 // short enough to type
	if !resume {
		return session, nil
	}
	runs, err := s.Runs()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range claim.Documents() {
		for i := range d.Claims {
			e := d.Claims[i].Experiment
			names[e.Name(size)], names[e.Longer().Name(size)] = true, true
		}
	}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		if !names[r.Name] || r.Version != host.Version() {
			continue
		}
		if len(session.have) == 0 {
			session.seed = r.Seed
		}
		if r.Seed == session.seed {
			session.have[r.Name] = r.ID
		}
	}
	return session, nil
}

// run returns the session's run of an experiment, created if need be, and what
// is still to be measured of it: nil for a run that is complete.
func (c *claimSession) run(s *store.Store, e claim.Experiment) (int64, []cell.Cell, error) {
	name := e.Name(c.size)
	if id := c.have[name]; id > 0 {
		pending, err := s.Pending(id)
		return id, pending, err
	}
	spec, err := e.Spec(c.size, c.seed)
	if err != nil {
		return 0, nil, err
	}
	if err := checkStudy(spec.Studies[0]); err != nil {
		return 0, nil, err
	}
	spec.Timeout = 5 * time.Minute
	spec.MemoryBytes = runner.DefaultMemoryCap(host.Fingerprint().MemoryBytes)
	cells, err := spec.Cells()
	if err != nil {
		return 0, nil, err
	}
	args := e.Args(c.size)
	id, err := s.CreateRun(store.Run{Name: name, Created: time.Now(), Args: args, Version: host.Version(), Machine: host.Fingerprint(), Seed: c.seed}, cells)
	return id, cells, err
}
