//go:build !unix

package attach

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }
