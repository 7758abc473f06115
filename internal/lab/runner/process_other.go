//go:build !linux

package runner

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

func childAttr(account *Account) (*syscall.SysProcAttr, error) {
	if account != nil && runtime.GOOS == "windows" {
		return nil, fmt.Errorf("run as another account: %w on this platform", errors.ErrUnsupported)
	}
	return groupAttr(account), nil
}

// awaitExit returns when the process has ended and been reaped.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

func preferForOOM() {}

// Only Linux says who descends from this process once the parents have ended.
func adoptOrphans() {}

func endOrphans() int { return 0 }
