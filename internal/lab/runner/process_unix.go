//go:build unix

package runner

import (
	"os"
	"syscall"
)

func groupAttr(account *Account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if account != nil {
		attr.Credential = &syscall.Credential{Uid: account.UID, Gid: account.GID}
	}
	return attr
}

// killGroup kills the process group that p leads.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// endOwnGroup kills this process and its group, if it leads one.
func endOwnGroup() {
	if pid := os.Getpid(); syscall.Getpgrp() == pid {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
	os.Exit(1)
}

// signaled reports whether a signal ended the process.
func signaled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
