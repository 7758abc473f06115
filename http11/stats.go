package http11

import "sync/atomic"

type serverStats struct {
	// Counters; they publish nothing else.
	accepted, acceptErrors, handshakeErrors, panics, refused, timeouts, held atomic.Uint64
}

// Stats describes a server's activity and state.
type Stats struct {
	Conns        int    // open now, excluding hijacked ones
	Accepted     uint64 // connections
	AcceptErrors uint64 // each pauses accepting
	// HandshakeErrors counts connections whose TLS handshake failed.
	HandshakeErrors uint64
	Panics          uint64 // in handlers
	Refused         uint64 // malformed requests or requests over a limit
	Timeouts        uint64 // of reading a request or writing a response
	Held            uint64 // handlers that held a loop longer than 10 ms; Readiness only
	Late            uint64 // refused uses of ended requests
	Memory          MemoryStats
}

// Figures calls add for each figure that package monitor shows, in a fixed
// order. The key ends with the unit, as in runtime/metrics; figures of a chart
// share one unit; a counter never decreases.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	const trouble, memory = "Server: trouble", "Server: request memory"
	const blocks, chunks = "Server: blocks", "Server: chunks"
	m := &s.Memory
	add("/http11/accepted:connections", "Server", "Connections accepted.", true, float64(s.Accepted))
	add("/http11/refused:requests", trouble,
		"Requests that were malformed or beyond a limit.", true, float64(s.Refused))
	add("/http11/timeouts:requests", trouble,
		"Time-outs of reading a request or writing a response.", true, float64(s.Timeouts))
	add("/http11/open:connections", "Server: connections", "Connections that are open.", false, float64(s.Conns))
	add("/http11/in-use:bytes", memory, "Request memory in use.", false, float64(m.InUseBytes))
	add("/http11/held:bytes", memory, "Request memory in use and idle.", false, float64(m.HeldBytes))
	add("/http11/hits:blocks", blocks, "Blocks of request memory that were at hand.", true, float64(m.Hits))
	add("/http11/misses:blocks", blocks, "Blocks for which memory had to be made.", true, float64(m.Misses))
	add("/http11/in-use:blocks", "Server: blocks in use", "Blocks of request memory in use.", false, float64(m.InUse))
	add("/http11/utilization:ratio", "Server: utilization",
		"Share of the held memory that is in use; the rest is idle or fragmentation.", false, m.Utilization())
	add("/http11/made:chunks", chunks, "Chunks made, by slab and arena.", true, float64(m.ChunksMade))
	add("/http11/freed:chunks", chunks, "Chunks given back, by slab and arena.", true, float64(m.ChunksFreed))
}

// Stats returns current statistics. They are zero before the server has served
// or warmed.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	conns := len(s.conns) + s.sockets
	s.mu.Unlock()
	out := Stats{
		Conns:    conns,
		Accepted: s.stats.accepted.Load(), AcceptErrors: s.stats.acceptErrors.Load(),
		HandshakeErrors: s.stats.handshakeErrors.Load(),
		Panics:          s.stats.panics.Load(), Refused: s.stats.refused.Load(), Timeouts: s.stats.timeouts.Load(),
		Held: s.stats.held.Load(),
	}
	if s.configured.Load() {
		out.Memory = s.memory.stats()
		out.Late = s.memory.late.Load()
	}
	return out
}
