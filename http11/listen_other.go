//go:build !linux

package http11

import (
	"errors"
	"syscall"
)

func reusePort(_, _ string, _ syscall.RawConn) error { return errors.ErrUnsupported }
