//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Process returns the CPU time that this process has used, in user mode and in
// the kernel, on all threads: the garbage collector's is part of it.
func Process() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
