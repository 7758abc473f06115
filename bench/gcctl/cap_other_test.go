//go:build !linux

package gcctl

import "errors"

func capMemory(uint64) error { return errors.ErrUnsupported }
