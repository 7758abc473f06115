package runner

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr puts the child into its own process group and has the kernel kill it when
// the thread that starts it ends.
func childAttr(account *Account) (*syscall.SysProcAttr, error) {
	attr := groupAttr(account)
	attr.Pdeathsig = syscall.SIGKILL
	return attr, nil
}

// awaitExit returns when the process has ended, without reaping it: until then no
// other process can get its PID.
func awaitExit(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// preferForOOM has the kernel kill this process before the lab when memory runs out. If that is
// not permitted, nothing is lost.
func preferForOOM() { os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }
