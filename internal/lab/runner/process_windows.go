package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func groupAttr(*Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills p only: process groups cannot be killed here.
func killGroup(p *os.Process) { p.Kill() }

func endOwnGroup() { os.Exit(1) }

func signaled(*os.ProcessState) bool { return false }
