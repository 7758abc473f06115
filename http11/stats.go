package http11

import "sync/atomic"

type serverStats struct {
	// Counters, which publish nothing else.
	accepted, acceptErrors, panics, refused, timeouts atomic.Uint64
}

// Stats says what a server has done and holds.
type Stats struct {
	Conns        int    // open now, hijacked ones not included
	Accepted     uint64 // connections
	AcceptErrors uint64 // after which accepting paused
	Panics       uint64 // of handlers
	Refused      uint64 // requests that were malformed or beyond a limit
	Timeouts     uint64 // of reading a request or writing a response
	Memory       MemoryStats
}

// Stats returns the statistics of now. They are zero before the server has
// served or warmed.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	conns := len(s.conns) + s.sockets
	s.mu.Unlock()
	out := Stats{
		Conns:    conns,
		Accepted: s.stats.accepted.Load(), AcceptErrors: s.stats.acceptErrors.Load(),
		Panics: s.stats.panics.Load(), Refused: s.stats.refused.Load(), Timeouts: s.stats.timeouts.Load(),
	}
	if s.configured.Load() {
		out.Memory = s.memory.stats()
	}
	return out
}
