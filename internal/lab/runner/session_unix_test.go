//go:build unix

package runner

import "syscall"

func sessionAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
