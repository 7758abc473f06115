package http11

// MemoryStats are the figures of request memory since it was made. They are
// read one after another, while requests go on. Under the isobar_nostats tag of
// package pool those that Pooled counts are 0.
type MemoryStats struct {
	Mode     MemoryMode
	Requests int64 // requests, or connections between two of them, that have memory

	Hits   uint64 // blocks served from what was at hand
	Misses uint64 // blocks for which memory had to be made

	InUse      int64 // blocks in use
	InUseBytes int64 // their memory
	HeldBytes  int64 // memory of blocks in use, of idle ones, and of the rest of their chunks

	// Slab and Arena only.
	ChunksMade  uint64 // chunks made
	ChunksFreed uint64 // chunks given back to the heap or the operating system
	Pooled      uint64 // blocks served by pools instead, too large for a chunk or beyond LimitBytes
}

// Utilization is the share of the held memory that is in blocks in use, 0 to 1;
// 0 if none is held. What is missing is idle or, with Arena, fragmentation: used
// memory that cannot be used again before the rest of its chunk is free.
func (s MemoryStats) Utilization() float64 {
	if s.HeldBytes == 0 {
		return 0
	}
	return float64(s.InUseBytes) / float64(s.HeldBytes)
}

// HitRate is the share of blocks that were at hand, 0 to 1; 0 before the first.
func (s MemoryStats) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

func (m *memory) stats() MemoryStats {
	s := MemoryStats{Mode: m.config.Mode, Requests: m.regions.Stats().InUse}
	m.source.addTo(&s)
	return s
}
