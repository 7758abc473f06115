//go:build goexperiment.arenas

package workload

import "unsafe"

// arenaString returns b as a string. Nobody writes to b afterwards, and its
// arena is freed only when the string is out of use.
func arenaString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
