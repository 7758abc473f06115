//go:build !linux

package attach

import (
	"errors"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

func cpuTime(int) (float64, error) { return 0, errors.ErrUnsupported }
