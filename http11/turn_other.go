//go:build !amd64 || race

package http11

import "sync/atomic"

// release stores v after all earlier writes.
func release(w *atomic.Uint64, v uint64) { w.Store(v) }

// loadAfter loads w after all earlier reads. A plain load orders only later
// operations; a read-modify-write orders both.
func loadAfter(w *atomic.Uint64) uint64 { return w.Add(0) }
