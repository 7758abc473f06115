//go:build !unix

package cputime

import "time"

var start = time.Now()

// Process returns elapsed time where CPU time is not known.
func Process() time.Duration { return time.Since(start) }
