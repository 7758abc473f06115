// Package rusage reads the resources that the operating system has charged to this process
// and to its children. Unknown figures are -1.
package rusage

// A Usage is the resources used so far.
type Usage struct {
	User, System             float64 // CPU time of all threads in seconds
	MinorFaults, MajorFaults float64
}

var unknown = Usage{-1, -1, -1, -1}

// CPU returns the CPU time in user mode and in the kernel, in seconds.
func (u Usage) CPU() float64 {
	if u.User < 0 {
		return -1
	}
	return u.User + u.System
}

// Since returns the usage after before.
func (u Usage) Since(before Usage) Usage {
	diff := func(now, then float64) float64 {
		if now < 0 || then < 0 {
			return -1
		}
		return now - then
	}
	return Usage{diff(u.User, before.User), diff(u.System, before.System),
		diff(u.MinorFaults, before.MinorFaults), diff(u.MajorFaults, before.MajorFaults)}
}
