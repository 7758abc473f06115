//go:build linux && !amd64 && !arm64

package target

import "errors"

func registers(int) (Regs, error) { return Regs{}, errors.ErrUnsupported }
