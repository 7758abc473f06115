package life

import "sync"

// A memo has what was computed on demand, for any number of goroutines. The zero memo is empty.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V // under mu
}

// get returns the value for a key. Goroutines that ask for it first at the same time each compute it.
func (m *memo[K, V]) get(key K, compute func() V) V {
	m.mu.Lock()
	v, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[K]V{}
	}
	m.known[key] = v
	return v
}
