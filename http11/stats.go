package http11

import "sync/atomic"

type serverStats struct {
	// Counters, which publish nothing else.
	accepted, acceptErrors, handshakeErrors, panics, refused, timeouts atomic.Uint64
}

// Stats says what a server has done and holds.
type Stats struct {
	Conns        int    // open now, hijacked ones not included
	Accepted     uint64 // connections
	AcceptErrors uint64 // after which accepting paused
	// HandshakeErrors counts connections whose TLS handshake failed.
	HandshakeErrors uint64
	Panics          uint64 // of handlers
	Refused         uint64 // requests that were malformed or beyond a limit
	Timeouts        uint64 // of reading a request or writing a response
	Held            uint64 // handlers that held a loop for more than 10 ms; Readiness only
	Late            uint64 // uses of a request after it had ended, which were refused
	Memory          MemoryStats
}

// Stats returns the statistics of now. They are zero before the server has
// served or warmed.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	conns := len(s.conns) + s.sockets
	w := s.watch
	s.mu.Unlock()
	out := Stats{
		Conns:    conns,
		Accepted: s.stats.accepted.Load(), AcceptErrors: s.stats.acceptErrors.Load(),
		HandshakeErrors: s.stats.handshakeErrors.Load(),
		Panics:          s.stats.panics.Load(), Refused: s.stats.refused.Load(), Timeouts: s.stats.timeouts.Load(),
	}
	if w != nil {
		out.Held = w.held.Load()
	}
	if s.configured.Load() {
		out.Memory = s.memory.stats()
		out.Late = s.memory.late.Load()
	}
	return out
}
