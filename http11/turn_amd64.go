//go:build !race

package http11

import (
	"sync/atomic"
	"unsafe"
)

// release stores v after all earlier writes.
//
// unsafe: an atomic.Uint64 begins with its value. The processor keeps stores in
// order, so a plain store releases; an atomic one would wait until the store
// buffer is empty, at several times the cost. The compiler keeps stores in
// program order. Race builds store atomically.
func release(w *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(w)) = v }

// loadAfter loads w after all earlier reads: the processor keeps loads in
// order.
func loadAfter(w *atomic.Uint64) uint64 { return w.Load() }
