//go:build !linux

package http11

import "time"

// An alarm does not exist here.
type alarm struct{}

func newAlarm(func()) *alarm       { return nil }
func (a *alarm) set(time.Duration) {}
func (a *alarm) close()            {}
