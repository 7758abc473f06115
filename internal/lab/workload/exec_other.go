//go:build !linux

package workload

import (
	"os"
	"syscall"
)

// tracePipe returns a plain pipe, on which writes run together.
func tracePipe() (r, w *os.File, packets bool, err error) {
	r, w, err = os.Pipe()
	return r, w, false, err
}

func programAttr() *syscall.SysProcAttr { return nil }
