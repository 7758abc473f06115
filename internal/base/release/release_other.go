//go:build !amd64 || race

package release

import "sync/atomic"

// Uint64 stores v in w after all earlier writes.
func Uint64(w *atomic.Uint64, v uint64) { w.Store(v) }

// LoadAfter loads w after all earlier reads. An atomic load orders only later
// operations; a read-modify-write orders both.
func LoadAfter(w *atomic.Uint64) uint64 { return w.Add(0) }
