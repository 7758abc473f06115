//go:build !linux

package http11

// A loopWatch has no loops here.
type loopWatch struct{}

func (*loopWatch) any(*watch) bool  { return false }
func (*loopWatch) look(*watch) bool { return false }
