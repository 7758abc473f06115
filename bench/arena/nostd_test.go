//go:build !goexperiment.arenas

package arena

import "testing"

func benchStdTyped(*testing.B, string, int)     {}
func benchStdTree(*testing.B, string, int, int) {}
