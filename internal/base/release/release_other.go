//go:build !amd64 || race

package release

import "sync/atomic"

// Uint64 stores v in w after all earlier writes.
func Uint64(w *atomic.Uint64, v uint64) { w.Store(v) }
