//go:build unix

package rusage

import "golang.org/x/sys/unix"

// Self returns the usage of this process.
func Self() Usage { return of(unix.RUSAGE_SELF) }

// Children returns the usage of the children that this process has waited for, and of their children.
func Children() Usage { return of(unix.RUSAGE_CHILDREN) }

func of(who int) Usage {
	var r unix.Rusage
	if unix.Getrusage(who, &r) != nil {
		return unknown
	}
	return Usage{User: float64(r.Utime.Nano()) / 1e9, System: float64(r.Stime.Nano()) / 1e9,
		MinorFaults: float64(r.Minflt), MajorFaults: float64(r.Majflt)}
}
