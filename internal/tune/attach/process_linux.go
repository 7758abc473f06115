package attach

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownSession starts a process in a session that signals of this terminal do not reach.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// cpuTime returns the CPU time of all threads of a process, in seconds. Its clock, see clock_getcpuclockid(3), counts
// nanoseconds, /proc/PID/stat hundredths of a second: too few in a block of a server that does little.
func cpuTime(pid int) (float64, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var at unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &at)
	return time.Duration(at.Nano()).Seconds(), err
}
