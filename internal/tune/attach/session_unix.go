//go:build unix

package attach

import "syscall"

// ownSession starts a process in a session that signals of this terminal do not reach.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
