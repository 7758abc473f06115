//go:build !race

package http11

import (
	"sync/atomic"
	"unsafe"
)

// release stores v after everything that was written before it.
//
// unsafe: an atomic.Uint64 begins with its value. The processor keeps stores in
// order, so that a plain one releases; the atomic one would wait until the store
// buffer is empty, at several times the cost. The compiler keeps stores in the
// order of the program. Race builds store atomically.
func release(w *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(w)) = v }

// loadAfter loads w after everything that was read before: the processor keeps
// loads in order.
func loadAfter(w *atomic.Uint64) uint64 { return w.Load() }
