//go:build !linux && !darwin && !freebsd && !windows

package offheap

import "errors"

func mapPages(int, bool) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapPages([]byte) error            { return errors.ErrUnsupported }
func guardPages([]byte) error            { return errors.ErrUnsupported }
func decommitPages([]byte) error         { return errors.ErrUnsupported }
