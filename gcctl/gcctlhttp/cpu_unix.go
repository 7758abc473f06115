//go:build unix

package gcctlhttp

import "golang.org/x/sys/unix"

// processCPU is the user and system time of this process in seconds.
func processCPU() float64 {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
