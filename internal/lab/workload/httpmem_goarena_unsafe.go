//go:build goexperiment.arenas

package workload

import "unsafe"

// arenaString returns b as a string. Nothing writes to b afterwards, and its arena is freed only
// when the string is no longer used.
func arenaString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
