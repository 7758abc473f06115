//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package eventloop

import "errors"

// newKernel fails: a loop without descriptors works everywhere.
func newKernel() (kernel, error) { return nil, errors.ErrUnsupported }
