//go:build !unix

package advice

import (
	"os"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return nil }

// killGroup kills p alone: there are no process groups.
func killGroup(p *os.Process) error { return p.Kill() }
