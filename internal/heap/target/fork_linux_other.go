//go:build linux && !amd64

package target

import (
	"fmt"
	"runtime"
)

func (p *Process) findClone() (uint64, error) {
	return 0, fmt.Errorf("target: %w: not on %s", ErrNoFork, runtime.GOARCH)
}

func (p *Process) fork(uint64) (child, error) { return child{}, errNoWaiter }

func (p *Process) reapIn(int, uint64) error { return errNoWaiter }

func waits(string) bool { return false }
