//go:build !linux

package ingress

import (
	"errors"
	"fmt"
)

func newEpoll() (signal, error) { return nil, fmt.Errorf("epoll: %w", errors.ErrUnsupported) }
