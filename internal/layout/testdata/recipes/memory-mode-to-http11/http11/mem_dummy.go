package http11

import "sync"

// Dummy is a memory mode in one file: what make returns, used again.
const Dummy MemoryMode = 200

func init() {
	register(Dummy, mode{
		ModeInfo: ModeInfo{Name: "dummy", Summary: "what make returns, used again"},
		source:   func(c Memory) source { return &dummies{first: c.BlockBytes, free: map[int][][]byte{}} },
		keep:     keepFirst,
	})
}

type dummies struct {
	first int

	mu    sync.Mutex
	free  map[int][][]byte // by size
	stats MemoryStats
}

func (d *dummies) get(n int) block {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.first
	for size < n {
		size *= 2
	}
	d.stats.InUse++
	d.stats.InUseBytes += int64(size)
	if list := d.free[size]; len(list) > 0 {
		d.stats.Hits++
		d.free[size] = list[:len(list)-1]
		return block{mem: list[len(list)-1]}
	}
	d.stats.Misses++
	d.stats.HeldBytes += int64(size)
	return block{mem: make([]byte, size)}
}

func (d *dummies) put(b block) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.InUse--
	d.stats.InUseBytes -= int64(len(b.mem))
	d.free[len(b.mem)] = append(d.free[len(b.mem)], b.mem)
}

func (d *dummies) warm(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.free[d.first]) < n {
		d.free[d.first] = append(d.free[d.first], make([]byte, d.first))
		d.stats.HeldBytes += int64(d.first)
	}
}

func (d *dummies) trim() {}

func (d *dummies) close() {}

func (d *dummies) addTo(s *MemoryStats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Hits += d.stats.Hits
	s.Misses += d.stats.Misses
	s.InUse += d.stats.InUse
	s.InUseBytes += d.stats.InUseBytes
	s.HeldBytes += d.stats.HeldBytes
}
