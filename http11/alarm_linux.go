package http11

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm calls a function after a time, exactly. The runtime's timers are up
// to a millisecond late in a process at rest, because its poller waits for
// whole milliseconds, and while one is near, each wait of the poller costs more
// (docs/adr/0009). The poller watches the descriptor of an alarm instead.
type alarm struct {
	fd   int // valid until file is closed
	file *os.File
}

// newAlarm returns an alarm that calls f with itself on a goroutine of its own
// whenever its time is up.
func newAlarm(f func(*alarm)) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err == nil {
		err = file.SetReadDeadline(time.Time{}) // fails if the runtime did not accept it
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	a := &alarm{fd, file}
	// Read forgets what the poller saw before it, so the function asks the descriptor
	// first, and again after each wake-up. It ends with close.
	go conn.Read(func(uintptr) bool {
		var times [8]byte
		if n, _ := unix.Read(fd, times[:]); n > 0 { // otherwise not yet, or set again
			f(a)
		}
		return false
	})
	return a, nil
}

// set replaces the time that is left.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	unix.TimerfdSettime(a.fd, 0, &spec, nil) // it cannot fail
}

func (a *alarm) close() { a.file.Close() }
