//go:build !unix && !windows

package rusage

// Self is unknown here.
func Self() Usage { return unknown }

// Children is unknown here.
func Children() Usage { return unknown }
