package http11

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm calls a function after a time, exactly. The runtime's timers are up
// to a millisecond late in a process at rest, because its poller waits for
// whole milliseconds. The poller watches the descriptor of an alarm instead.
type alarm struct {
	fd   int // valid until file is closed
	file *os.File
}

// newAlarm returns an alarm that calls f on a goroutine of its own, once now
// and whenever its time is up; nil if there is none to be had.
func newAlarm(f func()) *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err == nil {
		err = file.SetReadDeadline(time.Time{}) // fails if the runtime did not accept it
	}
	if err != nil {
		file.Close()
		return nil
	}
	go conn.Read(func(uintptr) bool { // it ends with close
		f()
		return false
	})
	return &alarm{fd, file}
}

// set replaces the time that is left.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	unix.TimerfdSettime(a.fd, 0, &spec, nil) // it cannot fail
}

func (a *alarm) close() { a.file.Close() }
