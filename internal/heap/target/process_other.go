//go:build !linux

package target

import (
	"errors"
	"fmt"
	"time"
)

// A Process is a running program; only processes on Linux can be read.
type Process struct {
	PID     int
	Program *Program
	Maps    []Mapping
	// MostStop bounds how long to wait until all threads stand still; 0 for no bound.
	MostStop time.Duration
}

// OpenProcess fails: processes of this system cannot be read.
func OpenProcess(pid int) (*Process, error) {
	return nil, fmt.Errorf("target: process %d: %w: only Linux's can be read; a core file or a snapshot can", pid,
		errors.ErrUnsupported)
}

// The methods below are never called: there is no Process.
func (p *Process) Close() error                                { return errors.ErrUnsupported }
func (p *Process) Read([]Range) error                          { return errors.ErrUnsupported }
func (p *Process) Same() error                                 { return errors.ErrUnsupported }
func (p *Process) Stopped(func() error) (time.Duration, error) { return 0, errors.ErrUnsupported }
func (p *Process) Clock() uint64                               { return 0 }
func (p *Process) Forked(time.Duration, func() error) (time.Duration, error) {
	return 0, errors.ErrUnsupported
}
func (p *Process) Threads() ([]Regs, error) { return nil, errors.ErrUnsupported }
