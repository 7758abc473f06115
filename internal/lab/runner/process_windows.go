package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func groupAttr(*Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills p: there are no groups that could be killed whole.
func killGroup(p *os.Process) { p.Kill() }

func endOwnGroup() { os.Exit(1) }

func signaled(*os.ProcessState) bool { return false }

// processUsage is what the kernel has accounted to this process so far.
func processUsage() usage {
	var created, exited, system, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &system, &user) != nil {
		return usage{-1, -1, -1, -1}
	}
	seconds := func(t windows.Filetime) float64 {
		return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
	}
	return usage{user: seconds(user), system: seconds(system), minorFaults: -1, majorFaults: -1}
}
