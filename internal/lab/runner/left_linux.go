package runner

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/lab/host"
)

// adoptOrphans makes this process the parent of descendants whose own parent ends, in whatever session or group they
// are. Otherwise nobody could tell any more whose they are.
func adoptOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Processes may take leaveTime to end by themselves, and endTime to end when killed.
const leaveTime, endTime = 100 * time.Millisecond, 2 * time.Second

// endOrphans kills what runs below this process, which must not start anything meanwhile, and returns how many it
// killed. It kills children only, whose PIDs nobody else gets before it waits for them; the children of those are its
// own next.
func endOrphans() (n int) {
	began := time.Now()
	for ; time.Since(began) < endTime; time.Sleep(time.Millisecond) {
		children := host.Children(os.Getpid())
		if len(children) == 0 {
			break
		}
		for _, pid := range children {
			if ended, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); ended == 0 && time.Since(began) > leaveTime {
				if unix.Kill(pid, unix.SIGKILL) == nil {
					n++
					unix.Wait4(pid, nil, 0, nil)
				}
			}
		}
	}
	return n
}
