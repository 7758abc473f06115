package workload

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tracePipe returns a pipe on which every write arrives separately. It has an
// enlarged buffer, because each of the runtime's small writes takes a page, and
// a full pipe would delay the collection being reported.
func tracePipe() (r, w *os.File, packets bool, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_DIRECT|unix.O_CLOEXEC); err != nil {
		return nil, nil, false, fmt.Errorf("packet pipe: %w", err)
	}
	// Without the privilege for a larger buffer, the pipe works with the default
	// size.
	unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, 1<<20)
	if err := unix.SetNonblock(fds[0], true); err != nil { // for read deadlines; the program's end blocks
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, false, fmt.Errorf("packet pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "stderr of the program"), os.NewFile(uintptr(fds[1]), "stderr"), true, nil
}

func programAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
