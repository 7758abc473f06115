//go:build !linux

package http11

import "time"

// A loopWatch watches no loops on this platform.
type loopWatch struct{}

func (*loopWatch) any(*watch) bool             { return false }
func (*loopWatch) look(*watch, time.Time) bool { return false }
