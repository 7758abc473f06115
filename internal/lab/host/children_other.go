//go:build !unix

package host

// childrenCPU is the CPU time of the children waited for; -1 means unknown
// here.
func childrenCPU() float64 { return -1 }
