//go:build !unix && !windows

package rusage

// Self is unknown on this system.
func Self() Usage { return unknown }

// Children is unknown on this system.
func Children() Usage { return unknown }
