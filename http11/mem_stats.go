package http11

// MemoryStats are request memory figures since its creation. They are read one
// by one while requests run. Under the isobar_nostats tag of package pool the
// counts for Pooled are 0.
type MemoryStats struct {
	Mode     MemoryMode
	Requests int64 // requests, or connections between two requests, that hold memory

	Hits   uint64 // blocks served from available memory
	Misses uint64 // blocks that needed new memory

	InUse      int64 // blocks in use
	InUseBytes int64 // their memory
	HeldBytes  int64 // memory of used blocks, idle blocks and the rest of their chunks

	// Slab and Arena only.
	ChunksMade  uint64 // chunks created
	ChunksFreed uint64 // chunks returned to the heap or the operating system
	Pooled      uint64 // blocks from pools, because too large for a chunk or over LimitBytes
}

// Utilization is the share of held memory that is in blocks in use, 0 to 1; 0
// if none is held. The rest is idle or, with Arena, fragmentation: released
// memory that cannot be reused before the rest of its chunk is free.
func (s MemoryStats) Utilization() float64 {
	if s.HeldBytes == 0 {
		return 0
	}
	return float64(s.InUseBytes) / float64(s.HeldBytes)
}

// HitRate is the share of blocks served from available memory, 0 to 1; 0 before
// the first.
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
