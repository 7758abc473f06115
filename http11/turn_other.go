//go:build !amd64 || race

package http11

import "sync/atomic"

// release stores v after everything that was written before it.
func release(w *atomic.Uint64, v uint64) { w.Store(v) }

// loadAfter loads w after everything that was read before. A load alone keeps
// only what follows it in order; an operation that writes keeps both.
func loadAfter(w *atomic.Uint64) uint64 { return w.Add(0) }
