//go:build !goexperiment.arenas

package workload

const haveGoArena = false

// A goArena holds nothing: newHTTPMem refuses the mode.
type goArena struct{}

func (*goArena) free() {}

func (*HTTPShape) inGoArena(*heapRequest) { panic("workload: httpmem: built without arenas") }
