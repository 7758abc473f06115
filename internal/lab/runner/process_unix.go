//go:build unix

package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// processUsage is what the kernel has accounted to this process so far.
func processUsage() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{-1, -1, -1, -1}
	}
	return usage{
		user: float64(r.Utime.Nano()) / 1e9, system: float64(r.Stime.Nano()) / 1e9,
		minorFaults: float64(r.Minflt), majorFaults: float64(r.Majflt),
	}
}
