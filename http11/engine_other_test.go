//go:build !linux

package http11

var engines = []Engine{Goroutines}
