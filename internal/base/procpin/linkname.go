package procpin

import _ "unsafe" // for go:linkname

// The runtime pushes both for packages outside it ("hall of shame" in
// runtime/proc.go); they need no -checklinkname flag as of Go 1.26. procPin
// increments the M's lock count and returns the id of its P, which is in
// [0, GOMAXPROCS) and cannot change until procUnpin decrements the count.

// Pin pins the goroutine to its P and returns the P's id, in
// [0, runtime.GOMAXPROCS(0)).
//
//go:linkname Pin runtime.procPin
func Pin() int

// Unpin ends the section begun by [Pin].
//
//go:linkname Unpin runtime.procUnpin
func Unpin()
