//go:build unix

package host

import "golang.org/x/sys/unix"

// childrenCPU is the CPU time, in seconds, of the children that this process
// has waited for, and of theirs; -1 where unknown.
func childrenCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return -1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
