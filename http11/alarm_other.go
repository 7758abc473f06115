//go:build !linux

package http11

import (
	"errors"
	"time"
)

// An alarm does not exist here.
type alarm struct{}

func newAlarm(func(*alarm)) (*alarm, error) { return nil, errors.ErrUnsupported }
func (a *alarm) set(time.Duration)          {}
func (a *alarm) close()                     {}
