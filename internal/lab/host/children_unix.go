//go:build unix

package host

import "golang.org/x/sys/unix"

// childrenCPU is the CPU time, in seconds, of the children this process has
// waited for and of their children; -1 if unknown.
func childrenCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return -1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
