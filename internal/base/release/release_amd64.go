//go:build !race

package release

import (
	"sync/atomic"
	"unsafe"
)

// Uint64 stores v in w after all earlier writes.
//
// unsafe: an atomic.Uint64 begins with its value.
func Uint64(w *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(w)) = v }

// LoadAfter loads w after all earlier reads: amd64 keeps loads in order.
func LoadAfter(w *atomic.Uint64) uint64 { return w.Load() }
