//go:build !linux

package runner

import (
	"os/exec"
	"syscall"
)

func childAttr() *syscall.SysProcAttr { return groupAttr() }

// awaitExit returns when the process has ended and been reaped.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

func preferForOOM() {}
